-- SPDX-License-Identifier: Apache-2.0
-- The device waits for data
-- Idle time while the host was in a data-loading range, more than 2 % of the span
-- remedy: More loader workers, larger prefetch_factor, persistent_workers=True, decoding on the GPU, or faster storage.
SELECT i.rank AS rank,
       printf('device %d was idle for %.2f ms (%.1f %% of its span) in %d gaps while the host loaded data', i.device, i.idle_ns / 1e6,
              100.0 * i.idle_ns / b.span_ns, i.gaps) AS finding,
       i.idle_ns AS gain_ns, printf('these gaps closed: %.2f ms', i.idle_ns / 1e6) AS arithmetic, NULL AS start_ns, NULL AS end_ns, NULL AS evidence,
       NULL AS cannot_say
FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'cause') i
     JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = i.pid AND b.device = i.device
WHERE i.cause = 'data_loading' AND i.idle_ns > 0.02 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no ranges or operators were recorded, so data loading cannot be told from other host work'
WHERE NOT EXISTS (SELECT 1 FROM main.range) AND NOT EXISTS (SELECT 1 FROM main.operator);
