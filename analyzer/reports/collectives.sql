-- SPDX-License-Identifier: Apache-2.0
-- Collectives
-- What did each kind of collective move, how fast, and how long did ranks wait for each other?
-- by: size, operation, communicator
-- communicator: its name, else its hash in hexadecimal; empty by operation
-- operation: NCCL's name; empty by communicator
-- datatype: by size: element type of the caller
-- ranks: number of ranks of the communicator; empty by operation, or when it is not known
-- bytes (bytes): by size: of one collective, NCCL's convention (all-gather, reduce-scatter, all-to-all, gather, scatter: ranks x count x size); empty: none, or not known, as where the recording does not tell the data type
-- calls: records, one per rank and collective
-- total_bytes (bytes): sum over the records whose bytes are known
-- total_ns (ns): sum of the kernels' durations; waiting for peers is part of it
-- median_ns (ns): by size: median kernel duration
-- kernel_algbw_bytes_per_s (bytes/s): by size: bytes / kernel duration, which includes waiting for the other ranks
-- kernel_busbw_bytes_per_s (bytes/s): by size: kernel_algbw x bus_factor
-- bus_factor: by size: all-reduce 2(n-1)/n; all-gather, reduce-scatter, all-to-all, gather, scatter (n-1)/n; others 1
-- complete: instances with a kernel of every rank, which the following columns are about
-- transfer_ns (ns): sum of (last end - last arrival)
-- transfer_algbw_bytes_per_s (bytes/s): bytes / transfer (last end - last arrival); the summary's algbw
-- transfer_busbw_bytes_per_s (bytes/s): by size transfer_algbw x bus_factor, else the mean over the bytes of these
-- wait_ns (ns): sum over ranks of (last arrival - own arrival)
-- max_skew_ns (ns): largest (last arrival - first arrival)
-- without_kernel: records that lead to no kernel, left out of the times
-- shared_kernel: records whose kernel carries several collectives, left out of the times
-- reference_busbw_bytes_per_s (bytes/s): by size: what it could reach: a benchmark of the same operation and number of ranks at this size, else the device's network roof, which is given (--peak network=450GB/s), measured or, for ranks that share a host (8 or fewer where the recording does not tell the hosts), its datasheet's NVLink or Infinity Fabric; empty: none is known
-- reference: which of them, or why imported benchmarks do not count
-- reference_pct (%): bus bandwidth of the transfer (without one: of the kernels) / reference
WITH found AS (
  SELECT communicator, operation, datatype, nullif(ranks, 0) AS ranks, nullif(bytes, 0) AS bytes, calls, calls * nullif(bytes, 0) AS total_bytes,
         total_ns, median_ns, iif(bytes = 0, NULL, kernel_algbw_bytes_per_s) AS kernel_algbw_bytes_per_s,
         iif(bytes = 0, NULL, kernel_busbw_bytes_per_s) AS kernel_busbw_bytes_per_s, iif(ranks = 0 AND bus_factor = 0, NULL, bus_factor) AS bus_factor, complete, transfer_ns,
         iif(bytes = 0, NULL, transfer_algbw_bytes_per_s) AS transfer_algbw_bytes_per_s,
         iif(bytes = 0, NULL, transfer_busbw_bytes_per_s) AS transfer_busbw_bytes_per_s, wait_ns, max_skew_ns, without_kernel,
         shared_kernel, reference_busbw_bytes_per_s, reference, iif(bytes = 0, NULL, reference_pct) AS reference_pct
  FROM analysis_collectives(:rank, :step, :range, :from_ns, :to_ns)),
grouped AS (
  SELECT CASE WHEN :by = 'communicator' THEN communicator END AS communicator, CASE WHEN :by = 'operation' THEN operation END AS operation,
         CASE WHEN :by = 'communicator' THEN ranks END AS ranks, sum(calls) AS calls, sum(total_bytes) AS total_bytes,
         sum(total_ns) AS total_ns, sum(complete) AS complete, sum(transfer_ns) AS transfer_ns,
         1e9 * sum(bytes * complete) / nullif(sum(transfer_ns), 0) AS algbw,
         1e9 * sum(bytes * complete * bus_factor) / nullif(sum(transfer_ns), 0) AS busbw, sum(wait_ns) AS wait_ns,
         max(max_skew_ns) AS max_skew_ns, sum(without_kernel) AS without_kernel, sum(shared_kernel) AS shared_kernel
  FROM found WHERE :by IN ('operation', 'communicator') GROUP BY 1, 2, 3)
SELECT communicator, operation, datatype, ranks, bytes, calls, total_bytes, total_ns, median_ns, kernel_algbw_bytes_per_s,
       kernel_busbw_bytes_per_s, bus_factor, complete, transfer_ns, transfer_algbw_bytes_per_s, transfer_busbw_bytes_per_s, wait_ns,
       max_skew_ns, without_kernel, shared_kernel, reference_busbw_bytes_per_s, reference, reference_pct
FROM found WHERE coalesce(:by, 'size') = 'size'
UNION ALL
SELECT communicator, operation, NULL, ranks, NULL, calls, total_bytes, total_ns, NULL, NULL, NULL, NULL, complete, transfer_ns, algbw,
       busbw, wait_ns, max_skew_ns, without_kernel, shared_kernel, NULL, NULL, NULL
FROM grouped;
