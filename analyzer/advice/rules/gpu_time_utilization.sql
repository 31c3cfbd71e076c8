-- SPDX-License-Identifier: Apache-2.0
-- The device is little used
-- Less than half of the device's span has any work on it
-- remedy: Find the largest causes in `plumb report idle FILE`; more work per step (batch size), CUDA graphs and fewer
--   waits fill the gaps.
WITH cause AS (
  SELECT rank, pid, device, cause, sum(idle_ns) AS idle_ns, row_number() OVER (PARTITION BY rank, pid, device ORDER BY sum(idle_ns) DESC) AS place
  FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'cause') GROUP BY rank, pid, device, cause)
SELECT b.rank AS rank,
       printf('device %d worked %.1f %% of its span (%.2f ms of %.2f ms); copies and sets count as work%s', b.device, 100.0 * b.busy_ns / b.span_ns,
              b.busy_ns / 1e6, b.span_ns / 1e6, coalesce(printf('; the largest cause of its idle time: %s, %.2f ms', replace(c.cause, '_', ' '), c.idle_ns / 1e6), '')) AS finding,
       b.idle_ns AS gain_ns, printf('all idle time filled: %.2f ms', b.idle_ns / 1e6) AS arithmetic, NULL AS start_ns, NULL AS end_ns, NULL AS evidence,
       NULL AS cannot_say
FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b
     LEFT JOIN cause c ON c.pid = b.pid AND c.rank IS b.rank AND c.device = b.device AND c.place = 1
WHERE b.span_ns > 0 AND b.busy_ns < 0.5 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded'
WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown);
