-- SPDX-License-Identifier: Apache-2.0
-- Roofline
-- Which kernels or operations are limited by memory, by compute or by neither?
-- by: kernel, op
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal
-- name: kernel, without namespaces, template arguments and parameters; by op empty, except of kernels whose FLOPs are not known
-- operation: library function, operator of the framework, or the range that declared the work; of kernels whose FLOPs are not known the operator that launched them, if any
-- source: where FLOPs and bytes come from: shape (of the library call, or shapes and types of the operator's arguments; of lists of tensors, whose types are not recorded, the type that the kernel's name tells) or declared (NVTX payload)
-- precision: the compute roof it is compared with; empty: it computes nothing in floating point. Elementwise operators, reductions, softmax and normalizations compute halves in fp32
-- precision_assumed: 1: taken as fp32, because the work does not say it or float operands may use tf32
-- calls: library calls, operators or ranges
-- total_ns (ns): sum of the kernels' durations
-- flops (FLOP): sum. By shape: 2 m n k of products, 2 per multiply-add of convolutions, the products of attention for the pairs that a causal mask leaves, one per element of an elementwise operator's result and per element that is reduced or pooled, the operations of their formulas for softmax, normalizations and fused optimizers; copies, casts, fills, lookups and integers none
-- bytes (bytes): to and from device memory; by shape each operand read once and each result written once: a lower bound for products, convolutions, attention, reductions, softmax and normalizations, which may pass over their operands again; of what a cache still holds less moves. Of tables that are looked up by indices as much as the result has, at most all of them
-- intensity (FLOP/byte): flops / bytes
-- flops_per_s (FLOP/s): attained
-- bytes_per_s (bytes/s): attained
-- compute_roof_flops_per_s (FLOP/s): of the precision
-- compute_roof_source: given (--peak), measured (plumb calibrate) or datasheet (by the device's properties, else by its name)
-- compute_roof_pct (%): attained / compute roof
-- memory_roof_bytes_per_s (bytes/s): of the device's memory
-- memory_roof_source: likewise
-- memory_roof_pct (%): attained / memory roof
-- verdict: memory-bound (> 75 % of the memory roof, < 25 % of the compute roof), compute-bound (> 75 %, < 50 %), else the larger if > 60 %; below 60 % of both latency-bound; above a roof (the inputs are wrong) or cannot say
-- remedy: what helps against that
-- reason: of latency-bound what shows it: short kernels (their average; less than 10 us, about as long as launching one) or small grids (the blocks of the largest / the device's multiprocessors), or that they are neither; else why it is above a roof, or cannot be said, which may be that the recording does not determine the operator's traffic
SELECT rank, pid, device, name, operation, source, precision, precision_assumed, calls, total_ns, flops, bytes, intensity, flops_per_s, bytes_per_s,
       compute_roof_flops_per_s, compute_roof_source, compute_roof_pct, memory_roof_bytes_per_s, memory_roof_source, memory_roof_pct, verdict,
       remedy, reason
FROM analysis_roofline(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'kernel') = 'kernel'
UNION ALL
SELECT rank, pid, device, name, operation, source, precision, precision_assumed, calls, total_ns, flops, bytes, intensity, flops_per_s, bytes_per_s,
       compute_roof_flops_per_s, compute_roof_source, compute_roof_pct, memory_roof_bytes_per_s, memory_roof_source, memory_roof_pct, verdict,
       remedy, reason
FROM analysis_roofline_ops(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'op';
