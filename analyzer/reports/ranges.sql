-- SPDX-License-Identifier: Apache-2.0
-- Ranges
-- How long did each named range (NVTX, record_function, step) take on the host, and the work launched in it on the GPU?
-- by: name, path, instance, own_thread, all_threads
-- empty: The recording has only marks, which take no time.
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- domain: NVTX domain; empty: the default one
-- name: range, without the numbers that torch's emit_nvtx puts behind it (seq, op_id, sizes: by instance they stay); by path: the names of the ranges around it and its own
-- depth: by path and instance: how many ranges are around it
-- start_ns (ns): by instance: since the session's start
-- calls: how many ended
-- open: how many were still open when the recording ended; they have no duration and count in nothing else
-- total_ns (ns): sum of the durations on the host; nested ranges count in both
-- self_ns (ns): without the ranges directly inside, on the same thread
-- avg_ns (ns): mean duration
-- median_ns (ns): median duration
-- min_ns (ns): shortest
-- max_ns (ns): longest
-- stddev_ns (ns): sample standard deviation of the durations; empty for one range
-- share_pct (%): of the range time of this process, nested ranges counted each
-- gpu_events: kernels, copies and sets whose launch call lies in one of the ranges, on its thread or on those that run torch's backward pass for it; by own_thread: on its thread alone (as nsys counts); by all_threads: on any thread of the process
-- gpu_span_ns (ns): sum over the ranges of first start to last end of that work; empty: none is known
-- gpu_busy_ns (ns): sum over the ranges of the union of that work: without the gaps in between
-- gpu_total_ns (ns): sum of the durations of that work
-- gpu_span_avg_ns (ns): mean span of the ranges that launched work
-- gpu_span_median_ns (ns): median
-- gpu_span_max_ns (ns): longest
WITH chosen AS (
  SELECT * FROM analysis_ranges(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'name') = 'name'
  UNION ALL
  SELECT * FROM analysis_ranges_by_path(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'path'
  UNION ALL
  SELECT * FROM analysis_ranges_by_instance(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'instance'
  UNION ALL
  SELECT * FROM analysis_ranges_own_thread(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'own_thread'
  UNION ALL
  SELECT * FROM analysis_ranges_all_threads(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'all_threads'),
sums AS MATERIALIZED (SELECT rank, pid, sum(total_ns) AS range_ns FROM chosen GROUP BY rank, pid)
SELECT c.rank, c.pid, domain, name, depth, start_ns, calls, open, total_ns, self_ns, avg_ns, median_ns, min_ns, max_ns, stddev_ns,
       100.0 * total_ns / nullif(range_ns, 0) AS share_pct, gpu_events, gpu_span_ns, gpu_busy_ns, gpu_total_ns, gpu_span_avg_ns,
       gpu_span_median_ns, gpu_span_max_ns
-- CROSS keeps the order of `chosen`.
FROM chosen c CROSS JOIN sums s ON s.pid = c.pid AND s.rank IS c.rank;
