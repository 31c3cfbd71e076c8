-- SPDX-License-Identifier: Apache-2.0
-- Kernels by operator (TraceLens)
-- Which kernels of which operators took the GPU's time, as TraceLens' kernel summary counts it?
-- rank: rank of the process; empty when the program set none
-- op_category: GEMM, CONV_fwd, NORM_fwd by the operator; elementwise, reduce or other by torch's kernel; empty: no operator
-- op: innermost operator that launched it; empty when none is known
-- name: kernel
-- stream: number of the stream
-- time_us (us): sum of the durations
-- calls: how often it ran
-- mean_us (us): mean duration
-- min_us (us): shortest
-- max_us (us): longest
-- kernels_pct (%): of the time of all kernels of the process
-- total_pct (%): of TraceLens' total time: from the first to the last GPU work that has a launch
WITH grouped AS (
  SELECT k.process_id, o.name_id AS op_id, k.name_id, k.stream_id, sum(k.duration_ns) AS total_ns, count(*) AS calls,
         min(k.duration_ns) AS min_ns, max(k.duration_ns) AS max_ns
  FROM kernel k LEFT JOIN operator_launch l ON l.process_id = k.process_id AND l.correlation = k.correlation
       LEFT JOIN operator o ON o.id = l.operator_id
  WHERE k.flags & 1 = 0 GROUP BY 1, 2, 3, 4),
named AS (
  SELECT p.rank, g.process_id, op.text AS op, n.text AS name, s.number AS stream, sum(g.total_ns) AS total_ns, sum(g.calls) AS calls,
         min(g.min_ns) AS min_ns, max(g.max_ns) AS max_ns
  FROM grouped g JOIN process p ON p.id = g.process_id JOIN string n ON n.id = g.name_id JOIN stream s ON s.id = g.stream_id
       LEFT JOIN string op ON op.id = g.op_id
  WHERE :rank IS NULL OR p.rank = :rank GROUP BY g.process_id, g.op_id, g.name_id, s.number),
whole AS (SELECT rank, 1e6 * time_ms AS total_ns FROM tracelens_gpu_timeline(:rank) WHERE type = 'total_time')
SELECT n.rank,
       CASE WHEN op IS NULL THEN NULL
            WHEN op IN ('aten::mm', 'aten::addmm', 'aten::bmm', 'aten::baddbmm', 'aten::_scaled_mm') THEN 'GEMM'
            WHEN op LIKE 'aten::%convolution' THEN 'CONV_fwd'
            WHEN op LIKE 'aten::%norm' THEN 'NORM_fwd'
            WHEN name LIKE 'void at::native::%elementwise%' THEN 'elementwise'
            WHEN name LIKE 'void at::native::%reduce%' THEN 'reduce'
            ELSE 'other' END AS op_category,
       op, name, stream, total_ns / 1e3 AS time_us, calls, total_ns / 1e3 / calls AS mean_us, min_ns / 1e3 AS min_us, max_ns / 1e3 AS max_us,
       100.0 * n.total_ns / nullif(sum(n.total_ns) OVER (PARTITION BY process_id), 0) AS kernels_pct,
       100.0 * n.total_ns / nullif((SELECT max(w.total_ns) FROM whole w WHERE w.rank IS n.rank), 0) AS total_pct
FROM named n ORDER BY n.rank IS NULL, n.rank, process_id, n.total_ns DESC, name;
