-- SPDX-License-Identifier: Apache-2.0
-- CUDA API calls
-- In which CUDA calls did the host spend its time?
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- name: function
-- layer: runtime or driver
-- calls: how often it was called
-- failed: calls that returned an error
-- total_ns (ns): sum of the calls' durations over all threads; a driver call inside a runtime call counts in both
-- avg_ns (ns): mean duration
-- median_ns (ns): median duration
-- min_ns (ns): shortest
-- max_ns (ns): longest
-- stddev_ns (ns): sample standard deviation of the durations; empty for one call
-- share_pct (%): of the time in API calls of this process
WITH grouped AS (
  SELECT process_id, name_id, layer, count(*) AS calls, sum(result <> 0) AS failed, sum(duration_ns) AS total_ns,
         avg(duration_ns) AS avg_ns, median(duration_ns) AS median_ns, min(duration_ns) AS min_ns, max(duration_ns) AS max_ns,
         stddev(duration_ns) AS stddev_ns
  FROM api_call GROUP BY process_id, name_id, layer)
SELECT p.rank, p.pid, s.text AS name, layer, calls, failed, total_ns, avg_ns, median_ns, min_ns, max_ns, stddev_ns,
       100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY process_id), 0) AS share_pct
FROM grouped g JOIN process p ON p.id = g.process_id JOIN string s ON s.id = g.name_id
WHERE :rank IS NULL OR p.rank = :rank
ORDER BY p.rank IS NULL, p.rank, p.id, total_ns DESC, name;
