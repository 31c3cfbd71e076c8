-- SPDX-License-Identifier: Apache-2.0
-- One rank makes the others wait
-- A rank that makes the others wait for more than 5 % of the span each, and twice as long as it waits for them
-- remedy: Look at the phase that makes it late: compute (its share of the work, a slower GPU), data_loading (its loader),
--   launch (its host). `plumb report stragglers FILE`.
WITH other AS (SELECT max(1, count(DISTINCT rank) - 1) AS ranks FROM main.process),
worst AS (
  SELECT straggler_rank, straggler_pid, communicator, operation, sequence, first_arrival_ns, last_arrival_ns,
         row_number() OVER (PARTITION BY straggler_rank, straggler_pid ORDER BY wait_ns DESC) AS place
  FROM analysis_collective_instances(NULL, :step, :range, :from_ns, :to_ns) WHERE wait_ns > 0)
SELECT s.rank AS rank,
       printf('rank %s arrived last in %d of %d collectives and caused %.2f ms of waiting in the others; late in: %s', coalesce(s.rank, '-'),
              s.arrived_last, s.instances, s.caused_wait_ns / 1e6, coalesce(s.phase, 'unknown')) AS finding,
       s.caused_wait_ns / o.ranks AS gain_ns, printf('%.2f ms of waiting / %d other ranks', s.caused_wait_ns / 1e6, o.ranks) AS arithmetic,
       w.first_arrival_ns AS start_ns, w.last_arrival_ns AS end_ns,
       (SELECT 'collective ' || m.collective_id FROM analysis_collective_members(NULL, :step, :range, :from_ns, :to_ns) m
        WHERE m.pid = s.pid AND m.rank IS s.rank AND m.communicator = w.communicator AND m.operation = w.operation AND m.sequence = w.sequence LIMIT 1) AS evidence,
       NULL AS cannot_say
FROM report_stragglers(:rank, :step, :range, :from_ns, :to_ns) s CROSS JOIN other o
     LEFT JOIN worst w ON w.straggler_pid = s.pid AND w.straggler_rank IS s.rank AND w.place = 1
WHERE s.caused_wait_ns > 2 * s.waited_ns
  AND s.caused_wait_ns > 0.05 * o.ranks * (SELECT max(span_ns) FROM analysis_breakdown(NULL, :step, :range, :from_ns, :to_ns))
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no collective has the kernels of all its ranks in the file'
WHERE NOT EXISTS (SELECT 1 FROM report_stragglers WHERE instances > 0);
