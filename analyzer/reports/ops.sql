-- SPDX-License-Identifier: Apache-2.0
-- Operators
-- Which operations of the framework or library took the time, on the host and on the GPU?
-- by: name, shape
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- name: operator, library function, or the range that declares the operation; (no operator): the GPU work that none of them launched, as the kernels of a graph
-- shape: of the operands (framework: JSON, one element per argument; library: m, n, k and compute type); empty by name, or not recorded
-- source: framework (imported operators), library (calls with their shape), range (NVTX range with flops or bytes, or of torch's emit_nvtx, its numbers left out); none: of (no operator)
-- calls: how often it was called
-- cpu_self_ns (ns): on the host, without the operators inside
-- cpu_total_ns (ns): on the host; nested calls count in both
-- cpu_avg_ns (ns): mean of the total
-- cpu_self_pct (%): of the self time of all operators of this process
-- gpu_self_ns (ns): sum of the durations of the kernels, copies and sets that it launched itself; overlapping ones count each
-- gpu_total_ns (ns): with those of the operators inside
-- gpu_self_pct (%): of the summed durations of all GPU work of this process, with that of no operator
-- gpu_events: kernels, copies and sets in gpu_total_ns
WITH chosen AS (
  SELECT * FROM analysis_ops(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'name') = 'name'
  UNION ALL
  SELECT * FROM analysis_ops_by_shape(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'shape')
SELECT rank, pid, name, shape, source, calls, cpu_self_ns, cpu_total_ns, cpu_avg_ns,
       100.0 * cpu_self_ns / nullif(sum(cpu_self_ns) OVER (PARTITION BY rank, pid), 0) AS cpu_self_pct, gpu_self_ns, gpu_total_ns,
       100.0 * gpu_self_ns / nullif(sum(gpu_self_ns) OVER (PARTITION BY rank, pid), 0) AS gpu_self_pct, gpu_events
FROM chosen ORDER BY rank IS NULL, rank, pid, gpu_self_ns DESC, cpu_self_ns DESC, name;
