-- SPDX-License-Identifier: Apache-2.0
-- Collectives by NCCL's own timing
-- How fast were the collectives by NCCL's own measurement, and how does that compare with nccl-tests?
-- communicator: its name, else its id
-- operation: NCCL's name
-- bytes (bytes): of one collective, by NCCL's convention
-- ranks: of the communicator; empty: not told
-- calls: records, one per rank and collective
-- total_ns (ns): sum of their durations
-- median_ns (ns): of their durations
-- max_ns (ns): the longest
-- busbw_bytes_per_s (bytes/s): median of what NCCL reports; empty: it reports none
-- benchmark_busbw_bytes_per_s (bytes/s): the best that nccl-tests reached at this size and number of ranks, where its output was imported too; empty: none
-- of_benchmark_pct (%): the first as a share of the second
-- source: what was timed: kernel_gpu (the kernel, by the device's clock), kernel_cpu, collective_cpu (NCCL's event on the host: of its example profiler until the operation is enqueued, which is no transfer time), cuda_events
SELECT coalesce(cn.text, printf('0x%x', m.hash)) AS communicator, o.text AS operation, c.bytes, nullif(m.n_ranks, 0) AS ranks, count(*) AS calls,
       sum(t.duration_ns) AS total_ns, median(t.duration_ns) AS median_ns, max(t.duration_ns) AS max_ns,
       median(t.busbw_bytes_per_s) AS busbw_bytes_per_s, b.busbw AS benchmark_busbw_bytes_per_s,
       100.0 * median(t.busbw_bytes_per_s) / nullif(b.busbw, 0) AS of_benchmark_pct, t.source
FROM collective_timing t JOIN collective c ON c.id = t.collective_id JOIN process p ON p.id = c.process_id
     JOIN string o ON o.id = c.operation_id LEFT JOIN communicator m ON m.id = c.communicator_id
     LEFT JOIN string cn ON cn.id = m.name_id
     LEFT JOIN (SELECT operation, bytes, n_ranks, max(busbw_bytes_per_s) AS busbw FROM collective_benchmarks GROUP BY 1, 2, 3) b
       ON b.operation = o.text AND b.bytes = c.bytes AND b.n_ranks = m.n_ranks
WHERE :rank IS NULL OR p.rank = :rank
GROUP BY m.hash, cn.text, o.text, c.bytes, m.n_ranks, t.source ORDER BY total_ns DESC;
