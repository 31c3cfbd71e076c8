-- SPDX-License-Identifier: Apache-2.0
-- One rank makes the others wait
-- A rank that makes another wait, while that does not compute, for more than 0.5 % of the span, and all twice as long as it waits for them; what the first collective of a communicator waits is the program's or the recording's start and not counted
-- needs: collectives, device work
-- remedy: Look at the phase that makes it late: compute (its share of the work, a slower GPU), data_loading (its loader),
--   launch (its host). `plumb report stragglers FILE`.
WITH worst AS (
  SELECT straggler_rank, straggler_pid, communicator, operation, sequence, first_arrival_ns, last_arrival_ns,
         row_number() OVER (PARTITION BY straggler_rank, straggler_pid ORDER BY wait_ns DESC) AS place
  FROM analysis_collective_instances(NULL, :step, :range, :from_ns, :to_ns) WHERE wait_ns > 0 AND late_phase <> 'recording began later'),
-- Of the rank that it cost most: no more of what was caused in it than all of its waits while it did not compute.
caused AS (
  SELECT i.straggler_rank, i.straggler_pid, m.rank, m.pid, sum(m.wait_ns) AS wait_ns
  FROM analysis_collective_instances(NULL, :step, :range, :from_ns, :to_ns) i
       JOIN analysis_collective_members(NULL, :step, :range, :from_ns, :to_ns) m ON m.communicator = i.communicator AND m.operation = i.operation AND m.sequence = i.sequence
  WHERE m.wait_ns > 0 AND i.late_phase <> 'recording began later' GROUP BY i.straggler_rank, i.straggler_pid, m.rank, m.pid),
exposed AS (
  SELECT rank, pid, sum(waiting_ns) AS waiting_ns FROM analysis_exposed_communication(NULL, :step, :range, :from_ns, :to_ns) GROUP BY rank, pid),
cost AS (
  SELECT c.*, coalesce(e.waiting_ns, 0) AS exposed_ns, min(c.wait_ns, coalesce(e.waiting_ns, 0)) AS gain_ns,
         row_number() OVER (PARTITION BY c.straggler_rank, c.straggler_pid ORDER BY min(c.wait_ns, coalesce(e.waiting_ns, 0)) DESC) AS place
  FROM caused c LEFT JOIN exposed e ON e.pid = c.pid AND e.rank IS c.rank),
late AS (
  SELECT *, caused_wait_ns - recording_later_ns - unexplained_ns AS steady_ns,
         ltrim(iif(compute_ns > 0.1 * caused_wait_ns, printf(', compute %.6f ms', compute_ns / 1e6), '')
               || iif(previous_collective_ns > 0.1 * caused_wait_ns, printf(', previous collective %.6f ms', previous_collective_ns / 1e6), '')
               || iif(copies_ns > 0.1 * caused_wait_ns, printf(', copies %.6f ms', copies_ns / 1e6), '')
               || iif(data_loading_ns > 0.1 * caused_wait_ns, printf(', data loading %.6f ms', data_loading_ns / 1e6), '')
               || iif(launch_ns > 0.1 * caused_wait_ns, printf(', launch %.6f ms', launch_ns / 1e6), ''), ', ') AS phases
  FROM report_stragglers(:rank, :step, :range, :from_ns, :to_ns))
SELECT s.rank AS rank, s.pid AS pid,
       printf('rank %s arrived last in %d of %d collectives and caused %.6f ms of waiting in the others%s; late in: %s%s%s', coalesce(s.rank, '-'),
              s.arrived_last, s.instances, s.steady_ns / 1e6, iif(s.steady_ns < s.caused_wait_ns, printf(' (%.6f ms with the first collectives of communicators)', s.caused_wait_ns / 1e6), ''), coalesce(s.phase, 'unknown'), coalesce(', most of it in range ''' || s.late_range || '''', ''),
              iif(s.phases LIKE '%, %', printf(' (%s)', s.phases), '')) AS finding,
       c.gain_ns AS gain_ns,
       printf('the rank that it cost most, %s, waited %.6f ms for it%s, and %.6f ms in all while nothing computed there', coalesce(c.rank, '-'), c.wait_ns / 1e6,
              iif(s.unexplained_ns + s.recording_later_ns > 0, ' (without first collectives)', ''), c.exposed_ns / 1e6) AS arithmetic,
       w.first_arrival_ns AS start_ns, w.last_arrival_ns AS end_ns,
       (SELECT 'collective ' || m.collective_id FROM analysis_collective_members(NULL, :step, :range, :from_ns, :to_ns) m
        WHERE m.pid = s.pid AND m.rank IS s.rank AND m.communicator = w.communicator AND m.operation = w.operation AND m.sequence = w.sequence LIMIT 1) AS evidence,
       s.late_range AS range, NULL AS cannot_say
FROM late s JOIN cost c ON c.straggler_pid = s.pid AND c.straggler_rank IS s.rank AND c.place = 1
     LEFT JOIN worst w ON w.straggler_pid = s.pid AND w.straggler_rank IS s.rank AND w.place = 1
WHERE s.steady_ns > 2 * s.waited_ns
  AND c.gain_ns > 0.005 * (SELECT max(span_ns) FROM analysis_breakdown(NULL, :step, :range, :from_ns, :to_ns))
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       iif(EXISTS (SELECT 1 FROM analysis_collective_instances WHERE matched LIKE '%clocks%'), coalesce((SELECT 'the ranks have no common clock: ' || message FROM analysis_health WHERE check_name = 'clocks' AND severity = 'warning' LIMIT 1),
           'the clocks of the ranks cannot be compared'), 'no collective has the kernels of all its ranks in the file')
WHERE NOT EXISTS (SELECT 1 FROM report_stragglers WHERE instances > 0);
