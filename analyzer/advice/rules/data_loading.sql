-- SPDX-License-Identifier: Apache-2.0
-- The device waits for data
-- Idle time while the host was in a data-loading range, more than 0.5 % of the span
-- needs: device work
-- remedy: More loader workers, larger prefetch_factor, persistent_workers=True, decoding on the GPU, or faster storage.
-- remedy without torch: Load in more threads and further ahead, decode on the GPU, or use faster storage.
WITH loading AS (
  SELECT rank, pid, device, sum(idle_ns) AS idle_ns, max(gaps) AS gaps FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'cause')
  WHERE cause = 'data_loading' GROUP BY rank, pid, device),
place AS (
  SELECT rank, pid, device, host_range, row_number() OVER (PARTITION BY rank, pid, device ORDER BY idle_ns DESC) AS place
  FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'range') WHERE cause = 'data_loading' AND host_range IS NOT NULL),
gap AS (
  SELECT rank, pid, device, start_ns, start_ns + idle_ns AS end_ns, after_table || ' ' || after_id AS evidence,
         row_number() OVER (PARTITION BY rank, pid, device ORDER BY data_loading_ns DESC) AS place
  FROM analysis_idle_gaps(:rank, :step, :range, :from_ns, :to_ns) WHERE data_loading_ns > 0)
SELECT i.rank AS rank, i.pid AS pid,
       printf('device %d was idle for %.6f ms (%.1f %% of its span) in %d gap%s while the host loaded data%s', i.device, i.idle_ns / 1e6,
              100.0 * i.idle_ns / b.span_ns, i.gaps, iif(i.gaps = 1, '', 's'), coalesce(' in ''' || p.host_range || '''', '')) AS finding,
       i.idle_ns AS gain_ns, printf('the idle time while the host loaded data: %.6f ms', i.idle_ns / 1e6) AS arithmetic, g.start_ns AS start_ns, g.end_ns AS end_ns,
       g.evidence AS evidence, p.host_range AS range, NULL AS cannot_say
FROM loading i JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = i.pid AND b.rank IS i.rank AND b.device = i.device
     LEFT JOIN gap g ON g.pid = i.pid AND g.rank IS i.rank AND g.device = i.device AND g.place = 1
     LEFT JOIN place p ON p.pid = i.pid AND p.rank IS i.rank AND p.device = i.device AND p.place = 1
WHERE i.idle_ns > 0.005 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded' WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'neither ranges nor operators were recorded, so data loading cannot be told from other host work'
WHERE NOT EXISTS (SELECT 1 FROM main.range) AND NOT EXISTS (SELECT 1 FROM operator) AND NOT EXISTS (SELECT 1 FROM python_call);
