-- SPDX-License-Identifier: Apache-2.0
-- Many small collectives
-- Collectives of less than 1 MiB of one kind, more than 20 of them, whose time is latency and not bandwidth
-- remedy: Put the tensors into one bucket (DDP bucket_cap_mb, FSDP wrapping of larger modules) or use a group call.
SELECT NULL AS rank,
       printf('%d %s of %.1f KiB each took %.2f ms: %.1f µs for each, however small', calls, operation, bytes / 1024.0, total_ns / 1e6,
              median_ns / 1e3) AS finding,
       CAST(total_ns / max(ranks, 1) * (1 - 1.0 / max(calls / max(ranks, 1), 1)) AS INTEGER) AS gain_ns,
       printf('one collective for all %d of a rank: %.2f ms per rank x (1 - 1/%d)', calls / max(ranks, 1), total_ns / max(ranks, 1) / 1e6, calls / max(ranks, 1)) AS arithmetic,
       NULL AS start_ns, NULL AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM analysis_collectives(:rank, :step, :range, :from_ns, :to_ns)
WHERE bytes < 1048576 AND calls > 20 * max(ranks, 1) AND total_ns IS NOT NULL AND operation NOT IN ('Send', 'Recv')
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no collectives were recorded (kernels by name have no sizes)'
WHERE NOT EXISTS (SELECT 1 FROM main.collective) AND (SELECT count(*) FROM processes) > 1;
