-- SPDX-License-Identifier: Apache-2.0
-- Roofline of steps
-- Is a training step limited by compute, by memory or by the network, and how near is it to that limit?
-- by: step, rank
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- step: by step: counts from 0 within its process; by rank the row is the sum of the rank's steps
-- span_ns (ns): from the first start to the last end of the GPU work launched in the step
-- known_ns (ns): sum of the durations of kernels whose FLOPs are known
-- flops (FLOP): of what was launched in the step, where they are known
-- bytes (bytes): to and from device memory, likewise
-- sent_bytes (bytes): sent to other ranks; collectives by NCCL's bus factors
-- memory_intensity (FLOP/byte): flops / bytes
-- network_intensity (FLOP/byte): flops / sent_bytes
-- compute_bound_ns (ns): the least time of its FLOPs: sum over precisions of flops / roof; empty: no roof; of several devices of the process that of the one that needs the longest, as in memory_bound_ns
-- memory_bound_ns (ns): bytes / memory roof
-- network_bound_ns (ns): sent_bytes / network roof
-- bound: the largest of the three: compute, memory or network
-- bound_pct (%): that bound / span; what is missing to 100 is latency, waiting, or work of unknown FLOPs
-- roofs: where each roof comes from; without a network roof (given with --peak, measured, or its datasheet's NVLink where the run is on one host), the fastest collective of this trace
WITH found AS (SELECT * FROM analysis_roofline_step(:rank, :step, :range, :from_ns, :to_ns)),
sums AS (
  SELECT rank, pid, sum(span_ns) AS span_ns, sum(known_ns) AS known_ns, sum(flops) AS flops, sum(bytes) AS bytes, sum(sent_bytes) AS sent_bytes,
         sum(compute_bound_ns) AS compute_ns, sum(memory_bound_ns) AS memory_ns, sum(network_bound_ns) AS network_ns, max(roofs) AS roofs
  FROM found WHERE :by = 'rank' GROUP BY rank, pid),
bounds AS (SELECT *, max(coalesce(compute_ns, 0), coalesce(memory_ns, 0), coalesce(network_ns, 0)) AS most FROM sums)
SELECT rank, pid, step, span_ns, known_ns, flops, bytes, sent_bytes, memory_intensity, network_intensity, compute_bound_ns, memory_bound_ns,
       network_bound_ns, bound, bound_pct, roofs
FROM found WHERE coalesce(:by, 'step') = 'step'
UNION ALL
SELECT rank, pid, NULL, span_ns, known_ns, flops, bytes, sent_bytes, flops / nullif(bytes, 0), flops / nullif(sent_bytes, 0), compute_ns,
       memory_ns, network_ns,
       CASE WHEN most = 0 THEN NULL WHEN compute_ns = most THEN 'compute' WHEN memory_ns = most THEN 'memory' ELSE 'network' END,
       100.0 * nullif(most, 0) / nullif(span_ns, 0), roofs
FROM bounds;
