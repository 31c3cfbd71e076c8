-- SPDX-License-Identifier: Apache-2.0
-- Kernels that wait for a late rank
-- Communication kernels that ran, and nothing computed, before the last rank had begun its own, more than 0.5 % of a device's span, in collectives that cannot be matched over all ranks (those that were: One rank makes the others wait); waits in the first collective for a rank whose recording began later are not counted
-- needs: device work
-- remedy: Look at what the late rank did before: more compute (its share of the work, a slower GPU), data loading, launches
--   (its host). Compare `plumb report idle FILE --rank R` of the late and of a waiting rank.
WITH wait AS (
  SELECT rank, pid, device, sum(waiting_ns - recording_later_ns) AS waiting_ns, sum(recording_later_ns) AS recording_later_ns, max(later_recorded_rank) AS later_rank, max(basis = 'names') AS by_names, group_concat(DISTINCT operation) AS operations
  FROM analysis_exposed_communication(:rank, :step, :range, :from_ns, :to_ns) WHERE waiting_ns > 0 AND (basis = 'names' OR unknown_ns > 0) GROUP BY rank, pid, device),
most AS (
  SELECT rank, pid, device, operation, late_rank, longest_kernel_id, start_ns, end_ns, row_number() OVER (PARTITION BY rank, pid, device ORDER BY waiting_ns - recording_later_ns DESC) AS place
  FROM analysis_exposed_communication(:rank, :step, :range, :from_ns, :to_ns) WHERE waiting_ns > 0)
SELECT w.rank AS rank, w.pid AS pid,
       printf('device %d''s kernels of %s ran for %.6f ms (%.1f %% of its span) before the last rank''s began%s%s; %s', w.device, replace(w.operations, ',', ', '), w.waiting_ns / 1e6,
              100.0 * w.waiting_ns / b.span_ns, iif(m.late_rank IS NULL, '', printf(', mostly that of rank %d', m.late_rank)),
              iif(w.recording_later_ns > 0, printf('; another %.6f ms they waited in the first collective for %s recording began later', w.recording_later_ns / 1e6, coalesce('rank ' || w.later_rank || ', whose', 'a rank whose')), ''),
              iif(w.by_names, 'kernels of one name that share a moment are taken for one collective, because no records with sequence numbers match them',
                  'at least, because not all ranks of these collectives are in the file')) AS finding,
       w.waiting_ns AS gain_ns, printf('the waits in which nothing computed: %.6f ms', w.waiting_ns / 1e6) AS arithmetic,
       m.start_ns AS start_ns, m.end_ns AS end_ns, 'kernel ' || m.longest_kernel_id AS evidence,
       iif(w.rank IS NULL, 'Look at what the late process did before: more compute (its share of the work, a slower GPU), data loading, launches (its host). Compare the rows of the late and of a waiting device in `plumb report idle FILE`.', NULL) AS remedy,
       NULL AS cannot_say
FROM wait w JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = w.pid AND b.rank IS w.rank AND b.device = w.device
     JOIN most m ON m.pid = w.pid AND m.rank IS w.rank AND m.device = w.device AND m.place = 1
WHERE w.waiting_ns > 0.005 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded' WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'only one device''s communication is in the file'
WHERE EXISTS (SELECT 1 FROM analysis_exposed_communication) AND (SELECT count(*) FROM (SELECT DISTINCT rank, pid, device FROM analysis_exposed_communication)) = 1
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'the ranks have no common clock: ' || message FROM analysis_health
WHERE check_name = 'clocks' AND severity = 'warning' AND EXISTS (SELECT 1 FROM analysis_exposed_communication);
