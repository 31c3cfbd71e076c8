-- SPDX-License-Identifier: Apache-2.0
-- Synchronizations
-- Who waited for the device, where in the code, for what, how long, and how long was the device idle because of it?
-- by: site, call, thread, instance
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- tid: thread that waited; empty by call, or when the call is not in the trace
-- api: function; empty by thread
-- waits_for: device, stream, event, or copy (a copy that blocks until it is done, as asynchronous ones of pageable memory do); empty by thread
-- stream: CUPTI's stream id, where one is told
-- in_range: innermost range around the call, without the numbers that torch's emit_nvtx puts behind it
-- op: innermost framework operator around the call
-- start_ns (ns): by instance: since the session's start
-- waits: how often
-- total_ns (ns): sum of the waits
-- avg_ns (ns): mean
-- median_ns (ns): median
-- max_ns (ns): longest
-- gpu_idle_ns (ns): idle time of the process's devices (all streams of each) that the wait caused: inside the wait, and, of the first wait in a gap, from the begin of the next launch to its work's start (but not of a copy that blocks or of pageable memory). It is what report idle calls host_synchronization, but for work that was launched long before; empty: not known
-- exposed_host_ns (ns): of the first wait in a gap, idle time after it in the same gap, in which the thread made the next work ready; report idle calls it launch_bound or unknown, after a wait. Empty: not known
-- refill_ns (ns): idle time of later gaps in which launches came late because the wait had emptied the queue: until the host has caught up by the wait's length, at most as far as 1024 launches reach; charged to the last wait before it, as if all waits were left out. Empty: not known
-- avoidable_ns (ns): what the device would have gained at most without these waits: the three together, but not more than the waits took; a bound, because the host may need what it waits for. Empty: not known
WITH chosen AS (
  SELECT * FROM analysis_synchronizations(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'site') = 'site'
  UNION ALL SELECT * FROM analysis_synchronizations_by_call(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'call'
  UNION ALL SELECT * FROM analysis_synchronizations_by_thread(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'thread'
  UNION ALL SELECT * FROM analysis_synchronizations_by_instance(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'instance')
SELECT rank, pid, tid, api, waits_for, stream, in_range, op, start_ns, waits, total_ns, avg_ns, median_ns, max_ns, gpu_idle_ns, exposed_host_ns, refill_ns, avoidable_ns
FROM chosen;
