-- SPDX-License-Identifier: Apache-2.0
-- Collective benchmarks
-- What did nccl-tests reach on the machine, by operation and size?
-- operation: NCCL's name
-- bytes (bytes): of the collective, by NCCL's convention
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
SELECT operation, bytes, n_ranks AS ranks, n_hosts AS hosts, datatype, in_place, duration_ns AS time_ns, algbw_bytes_per_s,
       busbw_bytes_per_s, wrong, device_name, source
FROM collective_benchmarks ORDER BY source, operation, datatype, bytes, in_place;
