-- SPDX-License-Identifier: Apache-2.0
-- Idle time
-- Why did the device do nothing, and what was the host doing meanwhile?
-- by: cause, gap, range
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal
-- start_ns (ns): of the gap, with --by gap
-- idle_ns (ns): time in which no stream of the device worked; the rows of --by cause and of --by range add up to the idle time of the breakdown. --by gap shows the 1000 largest gaps
-- share_pct (%): of the device's idle time
-- cause: host_synchronization, launch_bound, data_loading, stream_dependency, communication_skew, profiler_overhead, device_scheduling (between queued pieces of work of one stream or graph, or launched long before without a known reason) or unknown (host_synchronization: inside a wait for the device, and the latency of the launch after it, for which report synchronizations gives the same time to each wait; also inside a wait while the work was launched long before; launch_bound: the launching thread was in other calls or ranges, or the launch itself took its time, until at most 100 µs after its call's end; of the critical path the first is host, the second launch); of a gap the one that took most of it
-- evidence: what the cause is told by
-- gaps: how many gaps the time is part of
-- largest_ns (ns): most of it in one gap
-- host_call: the CUDA call in which the launching thread was, of a gap's cause; empty: none
-- host_range: the innermost range, operator or Python function around it, by range without the numbers of steps and calls; empty: none is recorded
-- work_before: the kernel, copy or set that ended at the gap's start
-- work_after: the one that ended the gap
SELECT rank, pid, device, start_ns, idle_ns, share_pct, cause, evidence, gaps, largest_ns, host_call, host_range, work_before, work_after
FROM (
SELECT rank, pid, device, NULL AS start_ns, idle_ns, 100.0 * idle_ns / nullif(device_idle_ns, 0) AS share_pct, cause, evidence, gaps,
       largest_ns, NULL AS host_call, NULL AS host_range, NULL AS work_before, NULL AS work_after
FROM analysis_idle_causes(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'cause') = 'cause'
UNION ALL
SELECT rank, pid, device, NULL, idle_ns, 100.0 * idle_ns / nullif(device_idle_ns, 0), cause, NULL, gaps, largest_ns, NULL, host_range,
       NULL, NULL
FROM analysis_idle_ranges(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'range'
UNION ALL
SELECT rank, pid, device, start_ns, idle_ns, 100.0 * idle_ns / nullif(device_idle_ns, 0), cause, evidence, 1, idle_ns, host_call,
       host_range, work_before, work_after
FROM analysis_idle_gaps(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'gap')
ORDER BY rank IS NULL, rank, pid, device, idle_ns DESC;
