-- SPDX-License-Identifier: Apache-2.0
-- Roofline
-- Which kernels are limited by memory, by compute or by neither?
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal
-- name: kernel, without namespaces, template arguments and parameters
-- operation: library function, or the range that declared the work
-- source: shape (of the library call) or declared (NVTX payload)
-- precision: the compute roof it is compared with
-- calls: library calls or ranges
-- total_ns (ns): sum of the kernels' durations
-- flops (FLOP): sum
-- bytes (bytes): to and from device memory; by shape a lower bound
-- intensity (FLOP/byte): flops / bytes
-- flops_per_s (FLOP/s): attained
-- bytes_per_s (bytes/s): attained
-- compute_roof_pct (%): attained / compute roof
-- memory_roof_pct (%): attained / memory roof
-- verdict: memory-bound (> 75 % of the memory roof, < 25 % of the compute roof), compute-bound (> 75 %, < 50 %), else the larger if > 60 %, else latency-bound; above a roof (the inputs are wrong) or cannot say
-- reason: of the last two
SELECT rank, pid, device, name, operation, source, precision, calls, total_ns, flops, bytes, intensity, flops_per_s, bytes_per_s,
       compute_roof_pct, memory_roof_pct, verdict, reason
FROM analysis_roofline WHERE :rank IS NULL OR rank = :rank;
