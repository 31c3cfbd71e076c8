-- SPDX-License-Identifier: Apache-2.0
-- The device waits for data
-- Idle time while the host was in a data-loading range, more than 0.5 % of the span; of one step from its begin on the host, before its first work on the device
-- needs: device work
-- remedy: More loader workers, larger prefetch_factor, persistent_workers=True, decoding on the GPU, or faster storage.
-- remedy without torch: Load in more threads and further ahead, decode on the GPU, or use faster storage.
-- The time of each process that is looked at: of a step, whose data is loaded before its first work, from its begin on the host.
WITH scope AS MATERIALIZED (
  SELECT NULL AS pid, :rank AS rank, :from_ns AS from_ns, :to_ns AS to_ns WHERE :step IS NULL
  UNION ALL
  SELECT s.pid, s.rank, coalesce(max(:from_ns, h.start_ns), h.start_ns, s.start_ns), coalesce(min(:to_ns, s.start_ns + s.span_ns), s.start_ns + s.span_ns)
  FROM analysis_steps(:rank, :step) s JOIN analysis_processes p ON p.pid = s.pid AND p.rank IS s.rank
       LEFT JOIN (SELECT process_id, min(start_ns) AS start_ns FROM steps WHERE step = :step GROUP BY process_id) h ON h.process_id = p.id
  WHERE :step IS NOT NULL AND s.span_ns IS NOT NULL GROUP BY s.pid, s.rank),
loading AS (
  SELECT i.rank AS rank, i.pid AS pid, i.device AS device, sum(i.idle_ns) AS idle_ns, max(i.gaps) AS gaps, CASE WHEN :step IS NOT NULL THEN s.to_ns - s.from_ns END AS step_ns
  FROM scope s JOIN report_idle(s.rank, NULL, :range, s.from_ns, s.to_ns, 'cause') i ON s.pid IS NULL OR (i.pid = s.pid AND i.rank IS s.rank)
  WHERE i.cause = 'data_loading' GROUP BY i.rank, i.pid, i.device),
place AS (
  SELECT i.rank AS rank, i.pid AS pid, i.device AS device, i.host_range AS host_range, row_number() OVER (PARTITION BY i.rank, i.pid, i.device ORDER BY i.idle_ns DESC) AS place
  FROM scope s JOIN report_idle(s.rank, NULL, :range, s.from_ns, s.to_ns, 'range') i ON s.pid IS NULL OR (i.pid = s.pid AND i.rank IS s.rank)
  WHERE i.cause = 'data_loading' AND i.host_range IS NOT NULL),
gap AS (
  SELECT g.rank AS rank, g.pid AS pid, g.device AS device, g.start_ns AS start_ns, g.start_ns + g.idle_ns AS end_ns, g.after_table || ' ' || g.after_id AS evidence,
         row_number() OVER (PARTITION BY g.rank, g.pid, g.device ORDER BY g.data_loading_ns DESC) AS place
  FROM scope s JOIN analysis_idle_gaps(s.rank, NULL, :range, s.from_ns, s.to_ns) g ON s.pid IS NULL OR (g.pid = s.pid AND g.rank IS s.rank)
  WHERE g.data_loading_ns > 0)
SELECT i.rank AS rank, i.pid AS pid,
       printf('device %d was idle for %.6f ms (%.1f %% of %s) in %d gap%s while the host loaded data%s', i.device, i.idle_ns / 1e6,
              100.0 * i.idle_ns / coalesce(i.step_ns, b.span_ns), iif(i.step_ns IS NULL, 'its span', printf('the %.6f ms from the step''s begin on the host to the end of its work', i.step_ns / 1e6)), i.gaps, iif(i.gaps = 1, '', 's'),
              coalesce(' in ''' || p.host_range || '''', '')) AS finding,
       i.idle_ns AS gain_ns, i.step_ns AS span_ns, printf('the idle time while the host loaded data: %.6f ms', i.idle_ns / 1e6) AS arithmetic, g.start_ns AS start_ns, g.end_ns AS end_ns,
       g.evidence AS evidence, p.host_range AS range, NULL AS cannot_say
FROM loading i JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = i.pid AND b.rank IS i.rank AND b.device = i.device
     LEFT JOIN gap g ON g.pid = i.pid AND g.rank IS i.rank AND g.device = i.device AND g.place = 1
     LEFT JOIN place p ON p.pid = i.pid AND p.rank IS i.rank AND p.device = i.device AND p.place = 1
WHERE i.idle_ns > 0.005 * coalesce(i.step_ns, b.span_ns)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded' WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'neither ranges nor operators were recorded, so data loading cannot be told from other host work'
WHERE NOT EXISTS (SELECT 1 FROM main.range) AND NOT EXISTS (SELECT 1 FROM operator) AND NOT EXISTS (SELECT 1 FROM python_call);
