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
-- Calls have no index: with windows of steps or ranges, which do not overlap, both are merged in order of time instead.
WITH merged AS (
  SELECT process_id, start_ns, end_ns, 0 AS is_call, NULL AS name_id, NULL AS thread_id, NULL AS duration_ns
  FROM host_window(:rank, :step, :range, :from_ns, :to_ns) WHERE :step IS NOT NULL OR :range IS NOT NULL
  UNION ALL
  SELECT process_id, start_ns, NULL, 1, name_id, thread_id, duration_ns FROM os_call WHERE :step IS NOT NULL OR :range IS NOT NULL),
chosen AS (
  SELECT process_id, name_id, thread_id, duration_ns
  FROM (SELECT *, max(end_ns) OVER (PARTITION BY process_id ORDER BY start_ns, is_call) AS window_end FROM merged)
  WHERE is_call = 1 AND start_ns < window_end
  UNION ALL
  SELECT process_id, name_id, thread_id, duration_ns FROM os_call
  WHERE :step IS NULL AND :range IS NULL AND (:from_ns IS NULL OR start_ns >= :from_ns) AND (:to_ns IS NULL OR start_ns < :to_ns)),
inside AS (
  SELECT CASE WHEN coalesce(:by, 'name') <> 'name' THEN c.process_id END AS process_id, c.name_id,
         CASE WHEN :by = 'thread' THEN c.thread_id END AS thread_id, c.duration_ns
  FROM chosen c JOIN process p ON p.id = c.process_id WHERE :rank IS NULL OR p.rank = :rank),
grouped AS (
  SELECT process_id, name_id, thread_id, count(*) AS calls, sum(duration_ns) AS total_ns, avg(duration_ns) AS avg_ns,
         median(duration_ns) AS median_ns, min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, stddev(duration_ns) AS stddev_ns
  FROM inside GROUP BY process_id, name_id, thread_id)
SELECT p.rank, p.pid, t.tid, s.text AS name, calls, total_ns, avg_ns, median_ns, min_ns, max_ns, stddev_ns,
       100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS share_pct
FROM grouped g JOIN string s ON s.id = g.name_id LEFT JOIN process p ON p.id = g.process_id LEFT JOIN thread t ON t.id = g.thread_id
ORDER BY p.rank IS NULL, p.rank, p.id, total_ns DESC, name;
