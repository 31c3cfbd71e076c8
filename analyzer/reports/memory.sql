-- SPDX-License-Identifier: Apache-2.0
-- Peak memory
-- What was in the device's memory when most of it was allocated, by category?
-- by: category, space
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal; empty for memory that is not on a device, or not said of which
-- space: device, or pinned, reserved (held by a caching allocator) and others, which have their own peak
-- category: by category: what it was for; unattributed: neither declared nor to be inferred
-- category_source: by category: declared (by the program or its framework) or inferred (from its lifetime against the phases of training); empty when unattributed
-- bytes (bytes): live at the peak
-- share_pct (%): of the peak
-- peak_bytes (bytes): all live allocations of the space at its peak
-- peak_time_ns (ns): when that was, since the session's start
WITH found AS (SELECT * FROM analysis_memory(:rank, :step, :range, :from_ns, :to_ns))
SELECT rank, pid, device, space, category, category_source, bytes, 100.0 * bytes / nullif(peak_bytes, 0) AS share_pct, peak_bytes, peak_time_ns
FROM found WHERE coalesce(:by, 'category') = 'category'
UNION ALL
SELECT rank, pid, device, space, NULL, NULL, sum(bytes), 100.0 * sum(bytes) / nullif(peak_bytes, 0), peak_bytes, peak_time_ns
FROM found WHERE :by = 'space' GROUP BY rank, pid, device, space, peak_bytes, peak_time_ns;
