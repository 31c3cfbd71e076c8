-- SPDX-License-Identifier: Apache-2.0
-- Kernel launches
-- How long did launching take, how long did kernels wait for their start, and was the stream's queue full?
-- by: name, thread
-- empty: No work has both a launch and a time.
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- name: kernel, without namespaces, template arguments and parameters; empty by thread
-- api: function that launched it; empty by thread
-- tid: thread that launched; empty by name
-- calls: kernels whose launch call is in the trace; others are not here
-- api_ns (ns): sum of the launch calls' durations, kernel by kernel: the one call that launches a graph counts with each kernel of the graph
-- api_avg_ns (ns): mean
-- api_median_ns (ns): median
-- api_max_ns (ns): longest
-- queued: kernels that began after their call had returned; the queue times are about these
-- queue_ns (ns): sum of kernel start - call end
-- queue_avg_ns (ns): mean
-- queue_median_ns (ns): median
-- queue_max_ns (ns): longest
-- delay_median_ns (ns): median of kernel start - call start
-- delay_max_ns (ns): longest
-- kernel_ns (ns): sum of the kernels' durations
-- kernel_avg_ns (ns): mean
-- total_ns (ns): sum of call start to kernel end
-- total_avg_ns (ns): mean
-- avg_depth: mean depth of the stream's queue when the kernel was launched: launches whose work had not begun, it included
-- max_depth: deepest
-- blocked_ns (ns): part of the calls with 1024 or more launches in the stream's queue, where a call waits for room
SELECT rank, pid, name, api, tid, calls, api_ns, api_avg_ns, api_median_ns, api_max_ns, queued, queue_ns, queue_avg_ns, queue_median_ns,
       queue_max_ns, delay_median_ns, delay_max_ns, kernel_ns, kernel_avg_ns, total_ns, total_avg_ns, avg_depth, max_depth, blocked_ns
FROM analysis_launch(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'name') = 'name'
UNION ALL
SELECT rank, pid, name, api, tid, calls, api_ns, api_avg_ns, api_median_ns, api_max_ns, queued, queue_ns, queue_avg_ns, queue_median_ns,
       queue_max_ns, delay_median_ns, delay_max_ns, kernel_ns, kernel_avg_ns, total_ns, total_avg_ns, avg_depth, max_depth, blocked_ns
FROM analysis_launch_by_thread(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'thread';
