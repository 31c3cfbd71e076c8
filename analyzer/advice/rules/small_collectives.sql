-- SPDX-License-Identifier: Apache-2.0
-- Many small collectives
-- Collectives of less than 1 MiB of one kind, more than 20 of them on each rank, whose time is latency and not bandwidth
-- remedy: Put the tensors into one bucket (DDP bucket_cap_mb, FSDP wrapping of larger modules) or use a group call.
WITH small AS (
  SELECT operation, bytes, communicator, calls / max(1, min(ranks, (SELECT count(DISTINCT rank) FROM main.process WHERE rank IS NOT NULL))) AS per_rank,
         median_ns, complete, coalesce(transfer_ns, total_ns / max(1, min(ranks, (SELECT count(DISTINCT rank) FROM main.process WHERE rank IS NOT NULL)))) AS time_ns,
         transfer_ns IS NOT NULL AS is_transfer
  FROM analysis_collectives(:rank, :step, :range, :from_ns, :to_ns)
  WHERE bytes < 1048576 AND total_ns IS NOT NULL AND operation NOT IN ('Send', 'Recv'))
SELECT NULL AS rank,
       printf('each rank made %d %s of %.1f KiB in communicator %s: %.2f ms, %.1f µs each (median with waits)', per_rank, operation, bytes / 1024.0, communicator,
              time_ns / 1e6, median_ns / 1e3) AS finding,
       CAST(time_ns * (1 - 1.0 / per_rank) AS INTEGER) AS gain_ns,
       printf('one collective in place of %d: %.2f ms of %s x (1 - 1/%d)', per_rank, time_ns / 1e6, iif(is_transfer, 'transfers, waits for late ranks left out', 'kernels, waits for late ranks included'), per_rank) AS arithmetic,
       NULL AS start_ns, NULL AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM small WHERE per_rank > 20
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no collectives were recorded (kernels by name have no sizes)'
WHERE NOT EXISTS (SELECT 1 FROM main.collective);
