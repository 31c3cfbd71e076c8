-- SPDX-License-Identifier: Apache-2.0
-- The device is little used
-- Less than half of the device's span has any work on it
-- remedy: Find the largest causes in `plumb report idle FILE`; more work per step (batch size), CUDA graphs and fewer
--   waits fill the gaps.
SELECT rank,
       printf('device %d worked %.1f %% of its span (%.2f ms of %.2f ms); copies and sets count as work', device, 100.0 * busy_ns / span_ns,
              busy_ns / 1e6, span_ns / 1e6) AS finding,
       idle_ns AS gain_ns, printf('all idle time filled: %.2f ms', idle_ns / 1e6) AS arithmetic, NULL AS start_ns, NULL AS end_ns, NULL AS evidence,
       NULL AS cannot_say
FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) WHERE span_ns > 0 AND busy_ns < 0.5 * span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded'
WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown);
