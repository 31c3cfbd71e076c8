-- SPDX-License-Identifier: Apache-2.0
-- Calls of the operating system's library
-- In which calls of the operating system (poll, read, locks …) did the threads spend their time? Only imported traces have them.
-- by: name, process, thread
-- rank: by process and thread: rank of the process; empty when the program set none
-- pid: by process and thread: process id
-- tid: by thread: the calling thread
-- name: function
-- calls: how often it was called
-- total_ns (ns): sum of the calls' durations over all threads; waits of many threads at once count each
-- avg_ns (ns): mean duration
-- median_ns (ns): median duration
-- min_ns (ns): shortest
-- max_ns (ns): longest
-- stddev_ns (ns): sample standard deviation of the durations; empty for one call
-- share_pct (%): of the time in all such calls
WITH inside AS (
  SELECT CASE WHEN coalesce(:by, 'name') <> 'name' THEN o.process_id END AS process_id, o.name_id,
         CASE WHEN :by = 'thread' THEN o.thread_id END AS thread_id, o.duration_ns
  FROM host_window(:rank, :step, :range, :from_ns, :to_ns) w
       JOIN os_call o ON o.process_id = w.process_id AND o.start_ns >= w.start_ns AND o.start_ns < w.end_ns),
grouped AS (
  SELECT process_id, name_id, thread_id, count(*) AS calls, sum(duration_ns) AS total_ns, avg(duration_ns) AS avg_ns,
         median(duration_ns) AS median_ns, min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, stddev(duration_ns) AS stddev_ns
  FROM inside GROUP BY process_id, name_id, thread_id)
SELECT p.rank, p.pid, t.tid, s.text AS name, calls, total_ns, avg_ns, median_ns, min_ns, max_ns, stddev_ns,
       100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS share_pct
FROM grouped g JOIN string s ON s.id = g.name_id LEFT JOIN process p ON p.id = g.process_id LEFT JOIN thread t ON t.id = g.thread_id
ORDER BY p.rank IS NULL, p.rank, p.id, total_ns DESC, name;
