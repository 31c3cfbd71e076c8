-- SPDX-License-Identifier: Apache-2.0
-- Collectives by NCCL's own timing
-- How fast were the collectives by NCCL's own measurement, and how does that compare with nccl-tests?
-- by: size, operation, rank
-- rank: by rank: rank of the process; empty when the program set none
-- communicator: its name, else its id; by size
-- operation: NCCL's name
-- bytes (bytes): by size: of one collective, by NCCL's convention
-- ranks: by size: of the communicator; empty: not told
-- calls: records, one per rank and collective
-- total_ns (ns): sum of their durations
-- median_ns (ns): of their durations
-- max_ns (ns): the longest
-- busbw_bytes_per_s (bytes/s): median of what NCCL reports; empty: it reports none
-- benchmark_busbw_bytes_per_s (bytes/s): the best that nccl-tests reached at this size and number of ranks, where its output was imported too; by size; empty: none
-- of_benchmark_pct (%): the first as a share of the second
-- source: what was timed: kernel_gpu (the kernel, by the device's clock), kernel_cpu, collective_cpu (NCCL's event on the host: of its example profiler until the operation is enqueued, which is no transfer time), cuda_events
-- reference_note: by size: why there is no benchmark, when some were imported
-- Windows, which do not overlap, and records are merged in order of time.
WITH merged AS (
  SELECT process_id, start_ns, end_ns, NULL AS collective_id FROM host_window(:rank, :step, :range, :from_ns, :to_ns)
  UNION ALL
  SELECT c.process_id, c.start_ns, NULL, c.id FROM collective_timing t JOIN collective c ON c.id = t.collective_id),
inside AS (
  SELECT t.collective_id, t.duration_ns, t.busbw_bytes_per_s, t.source, c.operation_id, c.bytes, c.communicator_id, p.rank
  FROM (SELECT *, max(end_ns) OVER (PARTITION BY process_id ORDER BY start_ns, collective_id IS NOT NULL) AS window_end FROM merged) m
       JOIN collective_timing t ON t.collective_id = m.collective_id JOIN collective c ON c.id = t.collective_id
       JOIN process p ON p.id = c.process_id
  WHERE m.start_ns < m.window_end),
named AS (
  SELECT CASE WHEN :by = 'rank' THEN i.rank END AS rank, o.text AS operation, i.duration_ns, i.busbw_bytes_per_s, i.source,
         CASE WHEN coalesce(:by, 'size') = 'size' THEN coalesce(cn.text, printf('0x%x', m.hash)) END AS communicator,
         CASE WHEN coalesce(:by, 'size') = 'size' THEN i.bytes END AS bytes,
         CASE WHEN coalesce(:by, 'size') = 'size' THEN nullif(m.n_ranks, 0) END AS ranks
  FROM inside i JOIN string o ON o.id = i.operation_id LEFT JOIN communicator m ON m.id = i.communicator_id
       LEFT JOIN string cn ON cn.id = m.name_id),
grouped AS (
  SELECT rank, communicator, operation, bytes, ranks, source, count(*) AS calls, sum(duration_ns) AS total_ns,
         median(duration_ns) AS median_ns, max(duration_ns) AS max_ns, median(busbw_bytes_per_s) AS busbw_bytes_per_s
  FROM named GROUP BY rank, communicator, operation, bytes, ranks, source),
best AS (
  SELECT operation, bytes, n_ranks, max(busbw_bytes_per_s) AS busbw FROM collective_benchmarks GROUP BY 1, 2, 3),
measured AS (
  SELECT operation, group_concat(DISTINCT n_ranks) AS ranks, min(bytes) AS least, max(bytes) AS most
  FROM collective_benchmarks GROUP BY operation)
SELECT g.rank, communicator, g.operation, g.bytes, g.ranks, calls, total_ns, median_ns, max_ns, busbw_bytes_per_s,
       b.busbw AS benchmark_busbw_bytes_per_s, 100.0 * busbw_bytes_per_s / nullif(b.busbw, 0) AS of_benchmark_pct, source,
       CASE WHEN b.busbw IS NULL AND coalesce(:by, 'size') = 'size' AND EXISTS (SELECT 1 FROM measured) THEN
         CASE WHEN a.operation IS NULL THEN 'the imported benchmarks did not measure this operation'
              WHEN instr(',' || a.ranks || ',', ',' || g.ranks || ',') = 0
                THEN 'the imported benchmarks are of ' || a.ranks || ' ranks, not ' || g.ranks
              ELSE 'the imported benchmarks did not measure this size' END END AS reference_note
FROM grouped g LEFT JOIN best b ON b.operation = g.operation AND b.bytes = g.bytes AND b.n_ranks = g.ranks
     LEFT JOIN measured a ON a.operation = g.operation
ORDER BY total_ns DESC;
