-- SPDX-License-Identifier: Apache-2.0
-- Asynchronous copies of pageable memory
-- cudaMemcpyAsync from or to pageable memory, which makes the host wait, is slower and cannot overlap
-- needs: device work
-- remedy: Allocate the host side with cudaMallocHost / cudaHostAlloc (PyTorch: DataLoader(pin_memory=True),
--   tensor.pin_memory()) and copy with non_blocking=True.
-- remedy without torch: Allocate the host side with cudaMallocHost / cudaHostAlloc.
WITH place AS (
  SELECT *, row_number() OVER (PARTITION BY rank, pid ORDER BY blocked_ns DESC) AS place
  FROM analysis_blocking_calls(:rank, :step, :range, :from_ns, :to_ns) WHERE kind = 'pageable copy'),
pinned AS (  -- what copies of pinned memory reached, 1: to the device, 2: from it
  SELECT p.pid AS pid, p.rank AS rank, c.best AS best
  FROM (SELECT process_id, max(bytes * 1e9 / duration_ns) AS best FROM main.memory_copy
        WHERE flags & 1 = 0 AND duration_ns > 0 AND bytes >= 1048576 AND copy_kind IN (1, 2) AND 2 IN (source_kind, target_kind) GROUP BY process_id) c
       JOIN analysis_processes p ON p.id = c.process_id),
blocking AS (
  SELECT b.rank AS rank, b.pid AS pid, sum(b.calls) AS calls, iif(count(b.bytes) = count(*), sum(b.bytes), NULL) AS bytes, sum(b.blocked_ns) AS blocked_ns, sum(b.idle_ns) AS idle_ns, sum(b.copying_ns) AS copying_ns,
         min(b.start_ns) AS start_ns, max(b.end_ns) AS end_ns, min(b.first_id) AS first_id, max(b.last_id) AS last_id,
         max(iif(b.place = 1, b.in_range, NULL)) AS in_range, max(iif(b.place = 1, b.blocked_ns, 0)) AS most_ns,
         CAST(max(sum(b.copying_ns) - iif(count(b.bytes) = count(*), sum(b.bytes), NULL) * 1e9 / f.best, 0) AS INTEGER) AS faster_ns, f.best AS best
  FROM place b LEFT JOIN pinned f ON f.pid = b.pid AND f.rank IS b.rank GROUP BY b.rank, b.pid)
SELECT b.rank AS rank, b.pid AS pid,
       printf('%d asynchronous cop%s (%s) used pageable memory: each call blocked its thread, %.6f ms in all, in %.6f ms of which the device did nothing and in %.6f ms nothing but this copying%s',
              b.calls, iif(b.calls = 1, 'y', 'ies'), CASE WHEN b.bytes IS NULL THEN 'of a size that was not recorded' WHEN b.bytes < 1024 THEN printf('%d B', b.bytes) WHEN b.bytes < 1048576 THEN printf('%.1f KiB', b.bytes / 1024.0) WHEN b.bytes < 1073741824 THEN printf('%.1f MiB', b.bytes / 1048576.0) ELSE printf('%.1f GiB', b.bytes / 1073741824.0) END, b.blocked_ns / 1e6, b.idle_ns / 1e6, b.copying_ns / 1e6,
              iif(b.in_range IS NULL, '', printf('; most of it in ''%s'': %.6f ms', b.in_range, b.most_ns / 1e6))) AS finding,
       b.idle_ns + coalesce(b.faster_ns, b.copying_ns) AS gain_ns,
       printf('the device''s idle time inside the calls: %.6f ms', b.idle_ns / 1e6)
         || iif(b.faster_ns IS NULL, iif(b.copying_ns > 0, printf(' + less than all of %.6f ms of copying; how much of it pinned memory saves cannot be said, because %s', b.copying_ns / 1e6, iif(b.best IS NULL, 'no copy of pinned memory of 1 MiB or more was recorded', 'their size was not recorded')), ''),
                printf(' + %.6f ms of copying less the time that the bytes take at the %.1f GB/s that a copy of pinned memory reached: %.6f ms', b.copying_ns / 1e6, b.best / 1e9, b.faster_ns / 1e6)) AS arithmetic,
       b.start_ns AS start_ns, b.end_ns AS end_ns, 'memory_copy ' || b.first_id || iif(b.last_id > b.first_id, ', memory_copy ' || b.last_id, '') AS evidence, b.in_range AS range, NULL AS cannot_say
FROM blocking b
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no copies were recorded' WHERE NOT EXISTS (SELECT 1 FROM main.memory_copy);
