-- SPDX-License-Identifier: Apache-2.0
-- Kernels by operator (TraceLens)
-- Which kernels of which operators took the GPU's time, as TraceLens' kernel summary counts it?
-- by: kernel, op, category
-- rank: rank of the process; empty when the program set none
-- op_category: GEMM, CONV_fwd, NORM_fwd by the operator; elementwise, reduce or other by torch's kernel; empty: no operator
-- op: by kernel and op: innermost operator that launched it; empty when none is known
-- name: by kernel: its name
-- stream: by kernel: number of the stream
-- time_us (us): sum of the durations
-- calls: how often it ran
-- mean_us (us): mean duration
-- min_us (us): shortest
-- max_us (us): longest
-- kernels_pct (%): of the time of all kernels of the process
-- total_pct (%): of TraceLens' total time: from the first to the last GPU work that has a launch
WITH named AS (
  SELECT g.rank, g.process_id, op.text AS op, n.text AS name, s.number AS stream, total_ns, calls, min_ns, max_ns,
         CASE WHEN op.text IS NULL THEN NULL
              WHEN op.text IN ('aten::mm', 'aten::addmm', 'aten::bmm', 'aten::baddbmm', 'aten::_scaled_mm') THEN 'GEMM'
              WHEN op.text LIKE 'aten::%convolution' THEN 'CONV_fwd'
              WHEN op.text LIKE 'aten::%norm' THEN 'NORM_fwd'
              WHEN n.text LIKE 'void at::native::%elementwise%' THEN 'elementwise'
              WHEN n.text LIKE 'void at::native::%reduce%' THEN 'reduce'
              ELSE 'other' END AS category
  FROM tracelens_kernel_groups(:rank, :step, :range, :from_ns, :to_ns) g JOIN string n ON n.id = g.name_id JOIN stream s ON s.id = g.stream_id LEFT JOIN string op ON op.id = g.op_id),
chosen AS (
  SELECT rank, process_id, category, CASE WHEN coalesce(:by, 'kernel') <> 'category' THEN op END AS op,
         CASE WHEN coalesce(:by, 'kernel') = 'kernel' THEN name END AS name, CASE WHEN coalesce(:by, 'kernel') = 'kernel' THEN stream END AS stream,
         sum(total_ns) AS total_ns, sum(calls) AS calls, min(min_ns) AS min_ns, max(max_ns) AS max_ns
  FROM named GROUP BY 1, 2, 3, 4, 5, 6),
whole AS (
  SELECT rank, 1e6 * time_ms AS total_ns FROM tracelens_gpu_timeline(:rank, :step, :range, :from_ns, :to_ns) WHERE type = 'total_time')
SELECT n.rank, category AS op_category, op, name, stream, total_ns / 1e3 AS time_us, calls, total_ns / 1e3 / calls AS mean_us,
       min_ns / 1e3 AS min_us, max_ns / 1e3 AS max_us,
       100.0 * n.total_ns / nullif(sum(n.total_ns) OVER (PARTITION BY process_id), 0) AS kernels_pct,
       100.0 * n.total_ns / nullif((SELECT max(w.total_ns) FROM whole w WHERE w.rank IS n.rank), 0) AS total_pct
FROM chosen n ORDER BY n.rank IS NULL, n.rank, process_id, n.total_ns DESC, name, op;
