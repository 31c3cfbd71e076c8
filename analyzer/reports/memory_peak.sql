-- SPDX-License-Identifier: Apache-2.0
-- Live at the peak
-- What was live when most of the device's memory was allocated, or when the program ran out of it, the largest first?
-- by: allocation, name, category, out_of_memory
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal; empty when it is not known
-- peak_time_ns (ns): when that was, since the session's start; by out_of_memory the first time that the process ran out of memory
-- peak_bytes (bytes): all that was live then
-- allocations: how many the row is about; 1 by allocation and out_of_memory
-- name: by allocation, name and out_of_memory: declared by the program, else the place in its code that allocated it; empty: neither is known
-- category: what it was for
-- category_source: declared or inferred; empty when unattributed
-- bytes (bytes): its part of the peak
-- share_pct (%): of the peak
-- since_ns (ns): by allocation and out_of_memory: when it was declared or allocated
-- address: by allocation and out_of_memory: of its first byte, in hexadecimal; empty when it is not known
WITH exhausted AS MATERIALIZED (
  SELECT rank, pid, min(time_ns) AS time_ns FROM analysis_out_of_memory(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'out_of_memory' GROUP BY rank, pid),
found AS (
  SELECT * FROM analysis_memory_peak(:rank, :step, :range, :from_ns, :to_ns) WHERE :by IS NOT 'out_of_memory'
  UNION ALL
  SELECT p.* FROM exhausted e CROSS JOIN analysis_memory_peak(:rank, NULL, NULL, e.time_ns, e.time_ns + 1) p WHERE p.pid = e.pid AND p.rank IS e.rank)
SELECT rank, pid, device, peak_time_ns, peak_bytes, 1 AS allocations, name, category, category_source, bytes,
       100.0 * bytes / nullif(peak_bytes, 0) AS share_pct, since_ns,
       CASE WHEN address IS NOT NULL THEN printf('0x%x', address) END AS address
FROM found WHERE coalesce(:by, 'allocation') IN ('allocation', 'out_of_memory')
UNION ALL
SELECT * FROM (
  SELECT rank, pid, device, peak_time_ns, peak_bytes, count(*), CASE WHEN :by = 'name' THEN name END, category, category_source, sum(bytes),
         100.0 * sum(bytes) / nullif(peak_bytes, 0), NULL, NULL
  FROM found WHERE :by IN ('name', 'category')
  GROUP BY rank, pid, device, peak_time_ns, peak_bytes, 7, category, category_source
  ORDER BY rank IS NULL, rank, pid, device, sum(bytes) DESC);
