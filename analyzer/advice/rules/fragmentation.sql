-- SPDX-License-Identifier: Apache-2.0
-- The allocator holds memory that it cannot hand out
-- More than 20 % of the reserved memory, and more than 64 MiB, is cached when the program runs out of memory, or even when, while most is reserved, most of it is handed out
-- threshold: 20 % of the reserved memory and 64 MiB
-- remedy: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (or max_split_size_mb), constant batch shapes, and
--   torch.cuda.empty_cache() only between phases.
-- remedy without torch: Ask for constant sizes, free what is cached only between phases, or let the allocator grow its
--   segments (virtual memory management).
WITH first AS (  -- what the allocator had reserved when it first said so
  SELECT process_id, name_id, value, min(start_ns) FROM main.counter_sample
  WHERE name_id IN (SELECT id FROM main.string WHERE text GLOB 'torch reserved bytes, device *') GROUP BY process_id, name_id),
before AS MATERIALIZED (
  SELECT p.rank AS rank, p.pid AS pid, n.text AS name, f.value AS bytes
  FROM first f JOIN main.string n ON n.id = f.name_id JOIN analysis_processes p ON p.id = f.process_id),
moments AS (
  SELECT *, row_number() OVER (PARTITION BY rank, pid, device ORDER BY moment = 'out of memory' DESC) AS place
  FROM report_fragmentation
  WHERE moment IN ('most reserved', 'out of memory') AND cached_pct > 20 AND cached_bytes > 67108864 AND (:rank IS NULL OR rank = :rank))
SELECT rank, pid,
       printf(iif(moment = 'out of memory', 'of %.2f GiB reserved when the program ran out of memory %.2f GiB were cached and did not serve (%.1f %%)%s',
                  'of %.2f GiB reserved at the peak at least %.2f GiB were never handed out (%.1f %%)%s'), reserved_bytes / 1073741824.0, cached_bytes / 1073741824.0, cached_pct,
              iif(largest_free_bytes >= 1048576, printf('; the largest free block is %.1f MiB', largest_free_bytes / 1048576.0), '')) AS finding,
       NULL AS gain_ns, printf('%.2f GiB of memory, no time', cached_bytes / 1073741824.0) AS arithmetic, time_ns AS start_ns, time_ns AS end_ns,
       (SELECT 'allocation ' || a.id FROM analysis_processes p CROSS JOIN main.allocation a ON a.process_id = p.id
        WHERE p.pid = f.pid AND p.rank IS f.rank AND a.start_ns <= f.time_ns ORDER BY a.start_ns DESC, a.id DESC LIMIT 1) AS evidence, NULL AS cannot_say
FROM moments f WHERE place = 1 AND (moment = 'out of memory' OR NOT EXISTS (
  SELECT 1 FROM before b WHERE b.pid = f.pid AND b.rank IS f.rank AND b.name = 'torch reserved bytes, device ' || f.device AND b.bytes >= f.reserved_bytes))
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'all that is reserved was reserved already when memory was first recorded, and may have been handed out before'
FROM moments f JOIN before b ON b.pid = f.pid AND b.rank IS f.rank AND b.name = 'torch reserved bytes, device ' || f.device AND b.bytes >= f.reserved_bytes
WHERE f.place = 1 AND f.moment <> 'out of memory'
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'what the allocator reserved was not recorded'
WHERE NOT EXISTS (SELECT 1 FROM report_fragmentation WHERE reserved_bytes IS NOT NULL);
