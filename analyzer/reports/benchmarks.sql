-- SPDX-License-Identifier: Apache-2.0
-- Collective benchmarks
-- What did nccl-tests reach on the machine, by operation and size?
-- by: size, operation
-- no: rank, step, range, from, to: nccl-tests measured the machine before or after the run, so nothing of it belongs to a rank or a time of the run
-- operation: NCCL's name
-- bytes (bytes): of the collective, by NCCL's convention; by operation the size with the highest busbw, which the row is about
-- ranks: that took part
-- hosts: that they were on
-- datatype: NCCL's name
-- in_place: 1: the result lies where the input was
-- time_ns (ns): of one collective
-- algbw_bytes_per_s (bytes/s): bytes / time, as printed to a hundredth of a GB/s; of what is printed as 0.00 by the division
-- busbw_bytes_per_s (bytes/s): algbw x 2(n-1)/n (all-reduce), (n-1)/n (all-gather, reduce-scatter, all-to-all), 1 (others); likewise, and empty where n is not known
-- wrong: wrong results; empty: not checked
-- device_name: of the GPUs
-- source: file that it was imported from
WITH placed AS (
  SELECT *, coalesce(nullif(algbw_bytes_per_s, 0), 1e9 * bytes / nullif(duration_ns, 0)) AS algbw,
         CASE operation WHEN 'AllReduce' THEN 2.0 * (n_ranks - 1) / nullif(n_ranks, 0)
           WHEN 'AllGather' THEN 1.0 * (n_ranks - 1) / nullif(n_ranks, 0) WHEN 'ReduceScatter' THEN 1.0 * (n_ranks - 1) / nullif(n_ranks, 0)
           WHEN 'AllToAll' THEN 1.0 * (n_ranks - 1) / nullif(n_ranks, 0) ELSE 1.0 END AS factor,
         row_number() OVER (PARTITION BY source, operation, datatype, n_ranks, in_place ORDER BY busbw_bytes_per_s DESC, bytes) AS place
  FROM collective_benchmarks)
SELECT operation, bytes, n_ranks AS ranks, n_hosts AS hosts, datatype, in_place, duration_ns AS time_ns, algbw AS algbw_bytes_per_s,
       coalesce(nullif(busbw_bytes_per_s, 0), algbw * factor) AS busbw_bytes_per_s, wrong, device_name, source
FROM placed WHERE place = 1 OR coalesce(:by, 'size') = 'size' ORDER BY source, operation, datatype, bytes, in_place;
