-- SPDX-License-Identifier: Apache-2.0
-- Many small collectives
-- Collectives of less than 1 MiB of one kind, more than 20 of them on each rank, that reach less than half of the best bus bandwidth of collectives at least 4 times as large in the file (of all of a kind, or of its median one): their time is latency
-- needs: collectives, device work
-- threshold: 20 of less than 1 MiB at less than half of the bandwidth of larger ones
-- remedy: Put the tensors into one bucket (DDP bucket_cap_mb, FSDP wrapping of larger modules) or use a group call.
WITH moved AS (  -- by each collective whose kernels are all in the file
  SELECT operation, bytes, communicator, max(end_ns) - max(arrival_ns) AS transfer_ns FROM analysis_collective_members(:rank, :step, :range, :from_ns, :to_ns)
  GROUP BY operation, bytes, communicator, sequence HAVING count(*) = max(recorded)),
-- Where something else took the machine for a while, a few collectives are very slow: what a larger one can reach shows in the median.
typical AS (SELECT operation, bytes, communicator, median(transfer_ns) AS transfer_ns FROM moved GROUP BY operation, bytes, communicator),
grouped AS (
  SELECT c.operation AS operation, c.bytes AS bytes, c.communicator AS communicator, median_ns, c.transfer_ns IS NOT NULL AS is_transfer,
         calls / max(1, min(ranks, (SELECT count(DISTINCT rank) FROM main.process WHERE rank IS NOT NULL AND (:rank IS NULL OR rank = :rank)))) AS per_rank,
         coalesce(c.transfer_ns, total_ns / max(1, min(ranks, (SELECT count(DISTINCT rank) FROM main.process WHERE rank IS NOT NULL AND (:rank IS NULL OR rank = :rank))))) AS time_ns,
         coalesce(transfer_busbw_bytes_per_s, kernel_busbw_bytes_per_s) AS busbw,
         max(coalesce(transfer_busbw_bytes_per_s, kernel_busbw_bytes_per_s), coalesce(iif(c.transfer_ns IS NULL, NULL, 1e9 * c.bytes * c.bus_factor / nullif(t.transfer_ns, 0)), 0)) AS reached
  FROM analysis_collectives(:rank, :step, :range, :from_ns, :to_ns) c LEFT JOIN typical t ON t.operation = c.operation AND t.bytes = c.bytes AND t.communicator = c.communicator
  WHERE total_ns IS NOT NULL AND c.operation NOT IN ('Send', 'Recv')),
small AS (
  SELECT g.*, (SELECT max(l.reached) FROM grouped l WHERE l.bytes >= 4 * g.bytes) AS best_busbw
  FROM grouped g WHERE g.bytes < 1048576 AND g.per_rank > 20 AND g.busbw > 0),
compared AS (
  SELECT s.*, (SELECT l.operation || printf(' of %.1f KiB', l.bytes / 1024.0) FROM grouped l WHERE l.bytes >= 4 * s.bytes AND l.reached = s.best_busbw LIMIT 1) AS best
  FROM small s),
-- More than a rank spends on them while nothing computes cannot be gained.
exposed AS (
  SELECT operation, max(ns) AS ns FROM (SELECT operation, sum(exposed_ns - waiting_ns - missing_ns) AS ns FROM analysis_exposed_communication(:rank, :step, :range, :from_ns, :to_ns) GROUP BY rank, pid, operation)
  GROUP BY operation),
saved AS (
  SELECT c.*, time_ns * (1 - busbw / best_busbw) AS faster_ns, coalesce(e.ns, 0) AS exposed_ns FROM compared c LEFT JOIN exposed e ON e.operation = c.operation),
example AS (
  SELECT operation, bytes, communicator, min(arrival_ns) AS start_ns, max(end_ns) AS end_ns,
         'collective ' || min(collective_id) || ', collective ' || max(collective_id) AS evidence
  FROM analysis_collective_members(:rank, :step, :range, :from_ns, :to_ns) GROUP BY operation, bytes, communicator)
SELECT NULL AS rank,
       printf('each rank made %d %s of %.1f KiB in communicator %s: %.6f ms, %.1f µs each (median with waits), at %.3g GB/s where %s reaches %.3g GB/s', per_rank, c.operation,
              c.bytes / 1024.0, c.communicator, time_ns / 1e6, median_ns / 1e3, busbw / 1e9, best, best_busbw / 1e9) AS finding,
       CAST(min(c.faster_ns, c.exposed_ns) AS INTEGER) AS gain_ns,
       printf('%.6f ms of %s x (1 - %.3g / %.3g): the same bytes at the bus bandwidth of %s%s', time_ns / 1e6,
              iif(is_transfer, 'transfers, waits for late ranks left out', 'kernels, waits for late ranks included'), busbw / 1e9, best_busbw / 1e9, best,
              iif(c.faster_ns > c.exposed_ns, printf('; no more than the %.6f ms of %s while nothing computed', c.exposed_ns / 1e6, c.operation), '')) AS arithmetic,
       e.start_ns AS start_ns, e.end_ns AS end_ns, e.evidence AS evidence, NULL AS cannot_say
FROM saved c LEFT JOIN example e ON e.operation = c.operation AND e.bytes = c.bytes AND e.communicator = c.communicator WHERE busbw < 0.5 * best_busbw
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no collective has a duration (no kernels were recorded with them)'
WHERE NOT EXISTS (SELECT 1 FROM grouped)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'there are no larger collectives (4 times the bytes) whose bandwidth the small ones could be compared with'
FROM small WHERE best_busbw IS NULL GROUP BY 1;
