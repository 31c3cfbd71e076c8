-- SPDX-License-Identifier: Apache-2.0
-- Synchronous memory sets
-- cudaMemset, which blocks the host
-- remedy: Use cudaMemsetAsync on the stream that needs the memory.
WITH room AS (
  SELECT rank, pid, sum(idle_ns + exposed_memory_ns) AS ns FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) GROUP BY rank, pid),
blocking AS (
  SELECT p.rank AS rank, p.pid AS pid, count(*) AS count, sum(c.bytes) AS bytes, sum(coalesce(a.duration_ns, c.duration_ns)) AS blocked_ns,
         min(c.start_ns) AS start_ns, max(c.start_ns + c.duration_ns) AS end_ns, min(c.id) AS first_id, max(c.id) AS last_id
  FROM gpu_window(:rank, :step, :range, :from_ns, :to_ns) w
       JOIN memory_sets c ON c.process_id = w.process_id AND c.start_ns >= w.start_ns AND c.start_ns < w.end_ns
       JOIN main.process p ON p.id = c.process_id
       LEFT JOIN main.api_call a ON a.process_id = c.process_id AND a.correlation = c.correlation
  WHERE c.is_async = 0 AND c.flags & 1 = 0 GROUP BY c.process_id)
SELECT b.rank AS rank,
       printf('%d synchronous memory sets (%.1f MiB) blocked their threads for %.2f ms', b.count, b.bytes / 1048576.0, b.blocked_ns / 1e6) AS finding,
       min(b.blocked_ns, r.ns) AS gain_ns,
       iif(r.ns < b.blocked_ns, printf('the calls blocked for %.2f ms, but the device was idle or only copied for %.2f ms', b.blocked_ns / 1e6, r.ns / 1e6),
           printf('the calls'' %.2f ms, if they returned at once', b.blocked_ns / 1e6)) AS arithmetic,
       b.start_ns AS start_ns, b.end_ns AS end_ns, 'memory_set ' || b.first_id || iif(b.last_id > b.first_id, ', memory_set ' || b.last_id, '') AS evidence, NULL AS cannot_say
FROM blocking b JOIN room r ON r.pid = b.pid AND r.rank IS b.rank
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no memory sets were recorded' WHERE NOT EXISTS (SELECT 1 FROM main.memory_set);
