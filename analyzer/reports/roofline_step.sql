-- SPDX-License-Identifier: Apache-2.0
-- Roofline of steps
-- Is a training step limited by compute, by memory or by the network, and how near is it to that limit?
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- step: counts from 0 within its process
-- span_ns (ns): from the first start to the last end of the GPU work launched in the step
-- known_ns (ns): sum of the durations of kernels whose FLOPs are known
-- flops (FLOP): of what was launched in the step, where they are known
-- bytes (bytes): to and from device memory, likewise
-- sent_bytes (bytes): sent to other ranks; collectives by NCCL's bus factors
-- memory_intensity (FLOP/byte): flops / bytes
-- network_intensity (FLOP/byte): flops / sent_bytes
-- compute_bound_ns (ns): the least time of its FLOPs: sum over precisions of flops / roof; empty: no roof
-- memory_bound_ns (ns): bytes / memory roof
-- network_bound_ns (ns): sent_bytes / network roof
-- bound: the largest of the three: compute, memory or network
-- bound_pct (%): that bound / span; what is missing to 100 is latency, waiting, or work of unknown FLOPs
-- roofs: where each roof comes from; without a network roof (given with --peak, measured, or its datasheet's NVLink where the run is on one host), the fastest collective of this trace
SELECT rank, pid, step, span_ns, known_ns, flops, bytes, sent_bytes, memory_intensity, network_intensity, compute_bound_ns, memory_bound_ns,
       network_bound_ns, bound, bound_pct, roofs
FROM analysis_roofline_step(:rank, :step);
