-- SPDX-License-Identifier: Apache-2.0
-- Memory over time
-- How much memory was allocated and reserved, and of what category, over time?
-- by: samples, changes
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal; empty when it is not known
-- start_ns (ns): from then to the series' next row. By samples: of 1000 equal parts of the time the moment of the largest total; by changes: every change
-- series: allocated (handed out to the program), reserved (held from the driver; no rows when it is not known), or a category of what is allocated
-- category_source: of a category: declared or inferred; empty for the others and for unattributed
-- bytes (bytes): live
SELECT rank, pid, device, start_ns, series, category_source, bytes
FROM analysis_memory_samples(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'samples') = 'samples'
UNION ALL
SELECT rank, pid, device, start_ns, series, category_source, bytes
FROM analysis_memory_changes(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'changes';
