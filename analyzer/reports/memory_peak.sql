-- SPDX-License-Identifier: Apache-2.0
-- Live at the peak
-- What was live when most of the device's memory was allocated, the largest first?
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal; empty when it is not known
-- peak_time_ns (ns): when that was, since the session's start
-- peak_bytes (bytes): all that was live then
-- name: declared by the program, else the place in its code that allocated it; empty: neither is known
-- category: what it was for
-- category_source: declared or inferred; empty when unattributed
-- bytes (bytes): its part of the peak
-- share_pct (%): of the peak
-- since_ns (ns): when it was declared or allocated
-- address: of its first byte; empty when it is not known
SELECT rank, pid, device, peak_time_ns, peak_bytes, name, category, category_source, bytes,
       100.0 * bytes / nullif(peak_bytes, 0) AS share_pct, since_ns, address
FROM analysis_memory_peak(:rank, :step, :range, :from_ns, :to_ns);
