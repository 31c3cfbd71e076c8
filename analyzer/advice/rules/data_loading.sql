-- SPDX-License-Identifier: Apache-2.0
-- The device waits for data
-- Idle time while the host was in a data-loading range, more than 2 % of the span
-- remedy: More loader workers, larger prefetch_factor, persistent_workers=True, decoding on the GPU, or faster storage.
WITH loading AS (
  SELECT rank, pid, device, sum(idle_ns) AS idle_ns, max(gaps) AS gaps FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'cause')
  WHERE cause = 'data_loading' GROUP BY rank, pid, device),
gap AS (
  SELECT rank, pid, device, start_ns, start_ns + idle_ns AS end_ns, row_number() OVER (PARTITION BY rank, pid, device ORDER BY idle_ns DESC) AS place
  FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'gap') WHERE cause = 'data_loading')
SELECT i.rank AS rank,
       printf('device %d was idle for %.2f ms (%.1f %% of its span) in %d gaps while the host loaded data', i.device, i.idle_ns / 1e6,
              100.0 * i.idle_ns / b.span_ns, i.gaps) AS finding,
       i.idle_ns AS gain_ns, printf('these gaps closed: %.2f ms', i.idle_ns / 1e6) AS arithmetic, g.start_ns AS start_ns, g.end_ns AS end_ns,
       (SELECT 'kernel ' || k.id FROM main.process p JOIN main.kernel k ON k.process_id = p.id WHERE p.pid = g.pid AND p.rank IS g.rank AND k.start_ns = g.end_ns LIMIT 1) AS evidence, NULL AS cannot_say
FROM loading i JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = i.pid AND b.rank IS i.rank AND b.device = i.device
     LEFT JOIN gap g ON g.pid = i.pid AND g.rank IS i.rank AND g.device = i.device AND g.place = 1
WHERE i.idle_ns > 0.02 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'neither ranges nor operators were recorded, so data loading cannot be told from other host work'
WHERE NOT EXISTS (SELECT 1 FROM main.range) AND NOT EXISTS (SELECT 1 FROM operator) AND NOT EXISTS (SELECT 1 FROM python_call);
