-- SPDX-License-Identifier: Apache-2.0
-- Mixed precision
-- In which formats were matrix products computed, what did conversions cost, and how was the loss scaled?
-- by: summary, time
-- empty: No matrix product, conversion or loss scale is known by its kernel's or operator's name.
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- what: matrix product, fp32 in autocast, conversion, loss scale, skipped steps; by time: loss scale and skipped step, one by one
-- dtype: number format of the operands as the unit computed them (tf32: fp32 operands on tensor cores); of a conversion from and to
-- source: library call or operator (with shapes), convolution (operators of convolutions and their backward), kernel name (FLOPs unknown), range (declared by the program), recorded
-- time_ns (ns): when, since the session's start
-- count: matrix products, conversions, samples of the scale, steps
-- flops (FLOP): sum of 2 m n k; empty when shapes are not recorded
-- flops_pct (%): of the matrix FLOPs of this process; empty when those of some are not known
-- gpu_ns (ns): sum of their kernels' durations
-- gpu_pct (%): of the time of the rows with this `what`
-- bytes (bytes): read and written by conversions
-- value: loss scale
-- note: why a value is empty, or what it is
WITH chosen AS (
  SELECT rank, pid, what, dtype, source, count, flops, gpu_ns, bytes, value, time_ns, note FROM analysis_precision(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'summary') = 'summary'
  UNION ALL
  SELECT rank, pid, what, NULL, 'recorded', NULL, NULL, NULL, NULL, value, time_ns, ''
  FROM analysis_loss_scale(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'time')
SELECT rank, pid, what, dtype, source, time_ns, count, flops,
       100.0 * flops / nullif(iif(count(flops) OVER (PARTITION BY rank, pid, what) = count(*) OVER (PARTITION BY rank, pid, what),
                                  sum(flops) OVER (PARTITION BY rank, pid, what), NULL), 0) AS flops_pct, gpu_ns,
       100.0 * gpu_ns / nullif(sum(gpu_ns) OVER (PARTITION BY rank, pid, what), 0) AS gpu_pct, bytes, value, note
FROM chosen
ORDER BY rank IS NULL, rank, pid, CASE what WHEN 'matrix product' THEN 0 WHEN 'fp32 in autocast' THEN 1 WHEN 'conversion' THEN 2 ELSE 3 END,
         time_ns, gpu_ns DESC;
