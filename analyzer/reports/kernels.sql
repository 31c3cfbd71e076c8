-- SPDX-License-Identifier: Apache-2.0
-- Kernels
-- Which kernels took the GPU's time, on each rank?
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- name: kernel, without namespaces, template arguments and parameters
-- calls: how often it ran
-- total_ns (ns): sum of its durations
-- avg_ns (ns): mean duration
-- median_ns (ns): median duration
-- min_ns (ns): shortest
-- max_ns (ns): longest
-- stddev_ns (ns): sample standard deviation of the durations; empty for one call
-- share_pct (%): of the kernel time of this process; overlapping kernels count each
WITH grouped AS (
  SELECT k.process_id, short_name_id, count(*) AS calls, sum(duration_ns) AS total_ns, avg(duration_ns) AS avg_ns,
         median(duration_ns) AS median_ns, min(duration_ns) AS min_ns, max(duration_ns) AS max_ns,
         stddev(duration_ns) AS stddev_ns
  FROM gpu_window(:rank, :step, :range, :from_ns, :to_ns) w
       JOIN kernel k ON k.process_id = w.process_id AND k.start_ns >= w.start_ns AND k.start_ns < w.end_ns
  WHERE flags & 1 = 0 GROUP BY k.process_id, short_name_id)
SELECT p.rank, p.pid, s.text AS name, calls, total_ns, avg_ns, median_ns, min_ns, max_ns, stddev_ns,
       100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY process_id), 0) AS share_pct
FROM grouped g JOIN process p ON p.id = g.process_id JOIN string s ON s.id = g.short_name_id
ORDER BY p.rank IS NULL, p.rank, p.id, total_ns DESC, name;
