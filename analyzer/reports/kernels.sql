-- SPDX-License-Identifier: Apache-2.0
-- Kernels
-- Which kernels took the GPU's time, on each rank?
-- by: name, full_name, mangled_name, grid, range, op
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- name: kernel, without namespaces, template arguments and parameters; by full_name with them, by mangled_name as the linker sees it
-- detail: by grid: blocks and threads; by range or op: the innermost range or operator that launched it, empty when none is known
-- calls: how often it ran; with --from, --to and --step those that begin inside, each with its whole duration
-- total_ns (ns): sum of its durations
-- avg_ns (ns): mean duration
-- median_ns (ns): median duration
-- min_ns (ns): shortest
-- max_ns (ns): longest
-- stddev_ns (ns): sample standard deviation of the durations; empty for one call
-- share_pct (%): of the kernel time of this process; overlapping kernels count each
WITH chosen AS (
  SELECT * FROM analysis_kernels(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'name') = 'name'
  UNION ALL SELECT * FROM analysis_kernels_by_full_name(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'full_name'
  UNION ALL SELECT * FROM analysis_kernels_by_mangled_name(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'mangled_name'
  UNION ALL SELECT * FROM analysis_kernels_by_grid(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'grid'
  UNION ALL SELECT * FROM analysis_kernels_by_range(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'range'
  UNION ALL SELECT * FROM analysis_kernels_by_op(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'op')
SELECT rank, pid, name, detail, calls, total_ns, avg_ns, median_ns, min_ns, max_ns, stddev_ns,
       100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY rank, pid), 0) AS share_pct
FROM chosen ORDER BY rank IS NULL, rank, pid, total_ns DESC, name, detail;
