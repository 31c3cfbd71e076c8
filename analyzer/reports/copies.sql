-- SPDX-License-Identifier: Apache-2.0
-- Copies and sets
-- How much memory was copied or set, from where to where, and how fast?
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- name: direction of the copy, or set
-- source: kind of memory that was read
-- target: kind of memory that was written
-- calls: how many
-- total_bytes (bytes): sum
-- avg_bytes (bytes): mean
-- total_ns (ns): sum of the durations on the device
-- avg_ns (ns): mean duration
-- median_ns (ns): median duration
-- min_ns (ns): shortest
-- max_ns (ns): longest
-- stddev_ns (ns): sample standard deviation of the durations; empty for one call
-- bandwidth_bytes_per_s (bytes/s): total bytes / total duration
-- share_pct (%): of the copy and set time of this process
WITH memory_kind(kind, label) AS (VALUES (1, 'pageable'), (2, 'pinned'), (3, 'device'), (4, 'array'), (5, 'managed')),
copy_kind(kind, label) AS (VALUES (1, 'HtoD'), (2, 'DtoH'), (3, 'HtoA'), (4, 'AtoH'), (5, 'AtoA'), (6, 'AtoD'), (7, 'DtoA'),
                                  (8, 'DtoD'), (9, 'HtoH'), (10, 'PtoP')),
work AS (
  SELECT process_id, copy_kind, source_kind, target_kind, bytes, duration_ns FROM memory_copy WHERE flags & 1 = 0
  UNION ALL
  SELECT process_id, -1, NULL, memory_kind, bytes, duration_ns FROM memory_set WHERE flags & 1 = 0),
grouped AS (
  SELECT process_id, copy_kind, source_kind, target_kind, count(*) AS calls, sum(bytes) AS total_bytes, avg(bytes) AS avg_bytes,
         sum(duration_ns) AS total_ns, avg(duration_ns) AS avg_ns, median(duration_ns) AS median_ns, min(duration_ns) AS min_ns,
         max(duration_ns) AS max_ns, stddev(duration_ns) AS stddev_ns
  FROM work GROUP BY process_id, copy_kind, source_kind, target_kind)
SELECT p.rank, p.pid, CASE g.copy_kind WHEN -1 THEN 'set' ELSE 'copy ' || coalesce(c.label, 'unknown') END AS name,
       CASE g.copy_kind WHEN -1 THEN NULL ELSE coalesce(a.label, 'unknown') END AS source, coalesce(b.label, 'unknown') AS target,
       calls, total_bytes, avg_bytes, total_ns, avg_ns, median_ns, min_ns, max_ns, stddev_ns,
       1e9 * total_bytes / nullif(total_ns, 0) AS bandwidth_bytes_per_s,
       100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY process_id), 0) AS share_pct
FROM grouped g JOIN process p ON p.id = g.process_id LEFT JOIN copy_kind c ON c.kind = g.copy_kind
     LEFT JOIN memory_kind a ON a.kind = g.source_kind LEFT JOIN memory_kind b ON b.kind = g.target_kind
WHERE :rank IS NULL OR p.rank = :rank
ORDER BY p.rank IS NULL, p.rank, p.id, total_ns DESC, name;
