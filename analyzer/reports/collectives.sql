-- SPDX-License-Identifier: Apache-2.0
-- Collectives
-- What did each kind of collective move, how fast, and how long did ranks wait for each other?
-- communicator: its name, else its hash in hexadecimal
-- operation: NCCL's name
-- datatype: element type of the caller
-- ranks: number of ranks of the communicator
-- bytes (bytes): of one collective, NCCL's convention (all-gather and reduce-scatter: ranks x count x size)
-- calls: records, one per rank and collective
-- total_ns (ns): sum of the kernels' durations; waiting for peers is part of it
-- median_ns (ns): median kernel duration
-- kernel_algbw_bytes_per_s (bytes/s): bytes / kernel duration, which includes waiting for the other ranks
-- kernel_busbw_bytes_per_s (bytes/s): kernel_algbw x bus_factor
-- bus_factor: all-reduce 2(n-1)/n; all-gather, reduce-scatter, all-to-all (n-1)/n; others 1
-- complete: instances with a kernel of every rank, which the following columns are about
-- transfer_ns (ns): sum of (last end - last arrival)
-- transfer_algbw_bytes_per_s (bytes/s): bytes / transfer (last end - last arrival); the summary's algbw
-- transfer_busbw_bytes_per_s (bytes/s): transfer_algbw x bus_factor
-- wait_ns (ns): sum over ranks of (last arrival - own arrival)
-- max_skew_ns (ns): largest (last arrival - first arrival)
-- without_kernel: records that lead to no kernel, left out of the times
-- shared_kernel: records whose kernel carries several collectives, left out of the times
-- reference_busbw_bytes_per_s (bytes/s): what it could reach: a benchmark of the same operation and number of ranks at this size, else the device's network roof, which is given (--peak network=450GB/s), measured or, for ranks that share a host (8 or fewer where the recording does not tell the hosts), its datasheet's NVLink or Infinity Fabric; empty: none is known
-- reference: which of them
-- reference_pct (%): bus bandwidth of the transfer (without one: of the kernels) / reference
SELECT communicator, operation, datatype, ranks, bytes, calls, total_ns, median_ns, kernel_algbw_bytes_per_s, kernel_busbw_bytes_per_s, bus_factor,
       complete, transfer_ns, transfer_algbw_bytes_per_s, transfer_busbw_bytes_per_s, wait_ns, max_skew_ns, without_kernel, shared_kernel,
       reference_busbw_bytes_per_s, reference, reference_pct
FROM analysis_collectives(:rank, :step, :range, :from_ns, :to_ns);
