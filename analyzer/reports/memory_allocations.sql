-- SPDX-License-Identifier: Apache-2.0
-- Allocations
-- What was allocated most, by name, category or size?
-- by: name, category, size
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal; empty when it is not known
-- space: device, pinned …
-- name: by name: declared by the program, else the place in its code that allocated it; empty: neither is known
-- category: by name and category: what it was for
-- category_source: declared or inferred; empty when unattributed
-- size_class_bytes (bytes): by size: allocations of at most this, and of more than half of it
-- allocations: how many
-- bytes (bytes): sum
-- largest_bytes (bytes): the largest one
-- avg_life_ns (ns): mean time from allocation to free, of those that were freed
-- live_at_end_bytes (bytes): never freed
SELECT rank, pid, device, space, name, category, category_source, size_class_bytes, sum(allocations) AS allocations, sum(bytes) AS bytes,
       max(largest_bytes) AS largest_bytes, sum(freed_life_ns) / nullif(sum(freed), 0) AS avg_life_ns,
       sum(live_at_end_bytes) AS live_at_end_bytes
FROM (SELECT rank, pid, device, space, CASE WHEN coalesce(:by, 'name') = 'name' THEN name END AS name,
             CASE WHEN coalesce(:by, 'name') <> 'size' THEN category END AS category,
             CASE WHEN coalesce(:by, 'name') <> 'size' THEN category_source END AS category_source,
             CASE WHEN :by = 'size' THEN size_class_bytes END AS size_class_bytes, allocations, bytes, largest_bytes, freed,
             freed_life_ns, live_at_end_bytes
      FROM analysis_memory_allocations(:rank, :step, :range, :from_ns, :to_ns))
GROUP BY rank, pid, device, space, name, category, category_source, size_class_bytes
ORDER BY rank IS NULL, rank, pid, sum(bytes) DESC;
