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
-- algbw_bytes_per_s (bytes/s): bytes / time
-- busbw_bytes_per_s (bytes/s): algbw x 2(n-1)/n (all-reduce), (n-1)/n (all-gather, reduce-scatter, all-to-all), 1 (others)
-- wrong: wrong results; empty: not checked
-- device_name: of the GPUs
-- source: file that it was imported from
WITH placed AS (
  SELECT *, row_number() OVER (PARTITION BY source, operation, datatype, n_ranks, in_place ORDER BY busbw_bytes_per_s DESC, bytes) AS place
  FROM collective_benchmarks)
SELECT operation, bytes, n_ranks AS ranks, n_hosts AS hosts, datatype, in_place, duration_ns AS time_ns, algbw_bytes_per_s,
       busbw_bytes_per_s, wrong, device_name, source
FROM placed WHERE place = 1 OR coalesce(:by, 'size') = 'size' ORDER BY source, operation, datatype, bytes, in_place;
