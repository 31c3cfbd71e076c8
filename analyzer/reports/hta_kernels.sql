-- SPDX-License-Identifier: Apache-2.0
-- Kernels (HTA)
-- Which kernels took most time, as HolisticTraceAnalysis counts it?
-- by: 10, 5, 20, 50, 100
-- rank: rank of the process; empty when the program set none
-- kernel_type: COMPUTATION, COMMUNICATION or MEMORY, told by name
-- name: kernel; others: what is not among the first of --by names (HTA's num_kernels, 10), or behind 0.8 of the cumulative time
-- sum_us (us): time
-- max_us (us): longest. In a type with more names than that this and the following columns are of the names' sums, not of single kernels
-- min_us (us): shortest
-- stddev_us (us): sample standard deviation; 0 for one value
-- mean_us (us): mean
WITH chosen AS (
  SELECT * FROM hta_kernels(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, '10') = '10'
  UNION ALL SELECT * FROM hta_kernels_5(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = '5'
  UNION ALL SELECT * FROM hta_kernels_20(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = '20'
  UNION ALL SELECT * FROM hta_kernels_50(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = '50'
  UNION ALL SELECT * FROM hta_kernels_100(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = '100')
SELECT * FROM chosen ORDER BY rank IS NULL, rank, kernel_type, sum_us DESC, name;
