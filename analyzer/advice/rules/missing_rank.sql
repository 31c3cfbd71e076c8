-- SPDX-License-Identifier: Apache-2.0
-- A rank never came to a collective
-- A collective that some ranks called and waited in, and others never called; or that some completed, and others did not
-- needs: collectives
-- remedy: Look at what the missing rank did meanwhile: an exception that it swallowed, a branch that only it took, a data
--   loader that ended early, a dead process. `plumb report stuck FILE`.
WITH part AS (
  SELECT * FROM analysis_stuck_members(NULL, :step, :range, :from_ns, :to_ns) WHERE state IN ('never called', 'held back')),
other AS (
  SELECT place, count(*) AS ranks, group_concat(rank, ' ') AS who, max(waited_ns) AS waited_ns, min(called_ns) AS called_ns,
         group_concat('collective ' || collective_id, ', ') AS evidence
  FROM part WHERE part = iif(state = 'held back', 'completed', 'waiting') GROUP BY place),
-- No more than what the rank that waited longest did not compute, where its kernels are known.
exposed AS (
  SELECT max(ns) AS ns FROM (SELECT sum(missing_ns) AS ns FROM analysis_exposed_communication(NULL, :step, :range, :from_ns, :to_ns) GROUP BY rank, pid)),
-- One row per rank: the first in the order of the report stuck; those after it may be its consequences.
missing AS (
  SELECT m.*, o.ranks, o.who, o.waited_ns AS others_waited_ns, o.called_ns AS others_called_ns, o.evidence,
         row_number() OVER (PARTITION BY m.rank, m.pid ORDER BY m.place) AS turn,
         count(*) OVER (PARTITION BY m.rank, m.pid, m.state) AS collectives,
         (SELECT w.rank FROM part w WHERE w.place = m.place AND w.part = 'waiting' ORDER BY w.waited_ns DESC LIMIT 1) AS waiting_rank
  FROM part m JOIN other o USING (place) WHERE m.part = 'missing')
SELECT iif(state = 'held back', 'A rank did not complete a collective', NULL) AS title, rank, pid,
       printf('rank %d %s %s %d of %s %s%s; rank%s %s %s%s%s', rank, iif(state = 'held back', 'did not complete', 'never came to'), operation, sequence,
              iif(EXISTS (SELECT 1 FROM main.communicator_state), 'process group', 'communicator'), process_group,
              iif(collectives > 1, printf(', nor %s%d other%s', iif(state = 'held back', '', 'to '), collectives - 1, iif(collectives > 2, 's', '')), ''), iif(ranks > 1, 's', ''), who,
              iif(state = 'held back', 'completed it', 'waited for it'),
              iif(others_waited_ns IS NULL OR state = 'held back', '', printf(' up to %.6f ms', others_waited_ns / 1e6)), coalesce('; ' || doing, '')) AS finding,
       iif(state = 'held back', NULL, iif(e.ns > 0, min(others_waited_ns, e.ns), others_waited_ns)) AS gain_ns, waiting_rank AS gain_rank,
       iif(others_waited_ns IS NULL OR state = 'held back', 'cannot say, because how long they waited was not recorded',
           printf('the longest wait: %.6f ms%s', others_waited_ns / 1e6, iif(e.ns > 0 AND e.ns < others_waited_ns, printf(', of which nothing was computed in %.6f ms', e.ns / 1e6), ''))) AS arithmetic,
       iif(state = 'held back', 'Look at the GPU and the network of the rank that did not complete it: the driver''s log (Xid errors), its links, its process. `plumb report stuck FILE`.', NULL) AS remedy,
       others_called_ns AS start_ns, others_called_ns + others_waited_ns AS end_ns, evidence, NULL AS cannot_say
FROM missing CROSS JOIN exposed e WHERE turn = 1 AND (:rank IS NULL OR rank = :rank);
