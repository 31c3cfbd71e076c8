-- SPDX-License-Identifier: Apache-2.0
-- A rank never came to a collective
-- A collective that some ranks called and waited in, and others never called
-- remedy: Look at what the missing rank did meanwhile: an exception that it swallowed, a branch that only it took, a data
--   loader that ended early, a dead process. `plumb report stuck FILE`.
WITH part AS (SELECT * FROM analysis_stuck_members(NULL, :step, :range, :from_ns, :to_ns) WHERE state = 'never called'),
waiting AS (
  SELECT process_group, operation, sequence, count(*) AS ranks, group_concat(rank, ' ') AS who, max(waited_ns) AS waited_ns, min(called_ns) AS called_ns,
         group_concat('collective ' || collective_id, ', ') AS evidence
  FROM part WHERE part = 'waiting' GROUP BY process_group, operation, sequence)
SELECT m.rank AS rank, m.pid AS pid,
       printf('rank %d never came to %s %d of communicator %s; rank%s %s waited for it%s%s', m.rank, m.operation, m.sequence, m.process_group,
              iif(w.ranks > 1, 's', ''), w.who, iif(w.waited_ns IS NULL, '', printf(' up to %.2f ms', w.waited_ns / 1e6)), coalesce('; ' || m.doing, '')) AS finding,
       w.waited_ns AS gain_ns, iif(w.waited_ns IS NULL, 'cannot say, because how long they waited was not recorded', printf('the longest wait: %.2f ms', w.waited_ns / 1e6)) AS arithmetic,
       w.called_ns AS start_ns, w.called_ns + w.waited_ns AS end_ns, w.evidence AS evidence, NULL AS cannot_say
FROM part m JOIN waiting w USING (process_group, operation, sequence)
WHERE m.part = 'missing' AND (:rank IS NULL OR m.rank = :rank)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no collectives were recorded' WHERE NOT EXISTS (SELECT 1 FROM main.collective);
