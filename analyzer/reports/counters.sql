-- SPDX-License-Identifier: Apache-2.0
-- Counters
-- Which numbers were sampled over time (device metrics, loss, loss scale) or read by CUPTI's profiler for each kernel, and what were they?
-- by: name, range
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- in_range: by range: the kernel or range that CUPTI's profiler read the counter for; empty for samples over time
-- name: counter; its unit, where it has one, is part of its name
-- samples: how many; of CUPTI's profiler: kernels or ranges
-- min: smallest value
-- avg: mean of the samples, not weighed by time
-- max: largest value
-- first: first value
-- last: last value
-- first_time_ns (ns): when it was sampled first, since the session's start
-- last_time_ns (ns): when last
-- max_time_ns (ns): when it was first largest
SELECT rank, pid, in_range, name, samples, min, avg, max, first, last, first_time_ns, last_time_ns, max_time_ns
FROM analysis_counters(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'name') = 'name'
UNION ALL
SELECT rank, pid, in_range, name, samples, min, avg, max, first, last, first_time_ns, last_time_ns, max_time_ns
FROM analysis_counters_by_range(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'range';
