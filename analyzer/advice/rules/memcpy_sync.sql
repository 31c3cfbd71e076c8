-- SPDX-License-Identifier: Apache-2.0
-- Synchronous copies
-- cudaMemcpy and the like, which block the host until the copy is done
-- remedy: Use cudaMemcpyAsync with pinned memory on a stream and synchronize once, where the data is needed
--   (PyTorch: .to(device, non_blocking=True)).
SELECT c.rank AS rank,
       printf('%d synchronous copies (%.1f MiB) blocked their threads for %.2f ms', count(*), sum(c.bytes) / 1048576.0,
              sum(coalesce(a.duration_ns, c.duration_ns)) / 1e6) AS finding,
       sum(coalesce(a.duration_ns, c.duration_ns)) AS gain_ns,
       printf('the calls'' %.2f ms, if the host went on meanwhile', sum(coalesce(a.duration_ns, c.duration_ns)) / 1e6) AS arithmetic,
       min(c.start_ns) AS start_ns, max(c.start_ns + c.duration_ns) AS end_ns, 'memory_copy ' || min(c.id) || ', memory_copy ' || max(c.id) AS evidence,
       NULL AS cannot_say
FROM gpu_window(:rank, :step, :range, :from_ns, :to_ns) w
     JOIN copies c ON c.process_id = w.process_id AND c.start_ns >= w.start_ns AND c.start_ns < w.end_ns
     LEFT JOIN main.api_call a ON a.process_id = c.process_id AND a.correlation = c.correlation
WHERE c.is_async = 0 AND c.copy_kind <> 'DtoD' AND c.flags & 1 = 0
GROUP BY c.process_id
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no copies were recorded' WHERE NOT EXISTS (SELECT 1 FROM main.memory_copy);
