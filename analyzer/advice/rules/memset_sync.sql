-- SPDX-License-Identifier: Apache-2.0
-- Synchronous memory sets
-- cudaMemset, which blocks the host
-- remedy: Use cudaMemsetAsync on the stream that needs the memory.
SELECT m.rank AS rank,
       printf('%d synchronous memory sets (%.1f MiB) blocked their threads for %.2f ms', count(*), sum(m.bytes) / 1048576.0,
              sum(coalesce(a.duration_ns, m.duration_ns)) / 1e6) AS finding,
       sum(coalesce(a.duration_ns, m.duration_ns)) AS gain_ns,
       printf('the calls'' %.2f ms, if they returned at once', sum(coalesce(a.duration_ns, m.duration_ns)) / 1e6) AS arithmetic,
       min(m.start_ns) AS start_ns, max(m.start_ns + m.duration_ns) AS end_ns, 'memory_set ' || min(m.id) || ', memory_set ' || max(m.id) AS evidence,
       NULL AS cannot_say
FROM gpu_window(:rank, :step, :range, :from_ns, :to_ns) w
     JOIN memory_sets m ON m.process_id = w.process_id AND m.start_ns >= w.start_ns AND m.start_ns < w.end_ns
     LEFT JOIN main.api_call a ON a.process_id = m.process_id AND a.correlation = m.correlation
WHERE m.is_async = 0 AND m.flags & 1 = 0
GROUP BY m.process_id
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no memory sets were recorded' WHERE NOT EXISTS (SELECT 1 FROM main.memory_set);
