-- SPDX-License-Identifier: Apache-2.0
-- CUDA API calls
-- In which CUDA calls did the host spend its time?
-- by: name, thread
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- tid: by thread: the calling thread
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
WITH chosen AS (
  SELECT * FROM analysis_api(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'name') = 'name'
  UNION ALL SELECT * FROM analysis_api_by_thread(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'thread')
SELECT rank, pid, tid, name, layer, calls, failed, total_ns, avg_ns, median_ns, min_ns, max_ns, stddev_ns,
       100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY rank, pid), 0) AS share_pct
FROM chosen ORDER BY rank IS NULL, rank, pid, total_ns DESC, name;
