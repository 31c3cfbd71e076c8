-- SPDX-License-Identifier: Apache-2.0
-- Stream queues
-- How many launches waited in each stream's queue, and was it ever full?
-- no: by: it has one row per stream, and the depths of several queues do not add up
-- empty: No work has both a launch and a time.
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal
-- stream: CUPTI's stream id
-- name: given by the program, else 'stream N'
-- launches: launch calls, each once however much work it launched (a graph)
-- without_launch: pieces of work whose launch call is not in the trace; they are not in the queue, which may have been deeper
-- max_depth: most launches that were called and whose work had not begun on the device
-- max_time_ns (ns): when it was first so deep, since the session's start
-- avg_depth: mean over span_ns
-- span_ns (ns): from the first launch call to the last start on the device
-- queued_ns (ns): time with a launch waiting
-- queued_pct (%): of span_ns; the rest of the time the stream had nothing to do next
-- full_ns (ns): time with 1024 or more waiting: the next launch call blocks
SELECT rank, pid, device, stream, name, launches, without_launch, max_depth, max_time_ns, avg_depth, span_ns, queued_ns,
       100.0 * queued_ns / nullif(span_ns, 0) AS queued_pct, full_ns
FROM analysis_queue(:rank, :step, :range, :from_ns, :to_ns);
