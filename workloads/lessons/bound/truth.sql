-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of the lesson "bound": rows (check_name, passed, detail). Parameter: :repeats. The verdicts are those
-- of plumb's roofline report, for the fastest run of each kernel against the fastest that the recording has of any: no kernel is
-- faster than its device.
WITH
  declared AS (
    SELECT r.name, k.duration_ns,
           (SELECT p.value FROM range_payload p JOIN string s ON s.id = p.name_id WHERE p.range_id = r.id AND s.text = 'flops') AS flops,
           (SELECT p.value FROM range_payload p JOIN string s ON s.id = p.name_id WHERE p.range_id = r.id AND s.text = 'bytes') AS bytes
    FROM ranges r JOIN api_calls a ON a.process_id = r.process_id AND a.thread_id = r.thread_id
           AND a.start_ns >= r.start_ns AND a.start_ns < r.start_ns + r.duration_ns
         JOIN kernels k ON k.process_id = a.process_id AND k.correlation = a.correlation
    WHERE r.name IN ('layer norm', 'softmax', 'decode GEMV', 'read')),
  run AS (
    SELECT name, duration_ns, flops, bytes FROM declared WHERE flops > 0
    UNION ALL
    SELECT 'copy', duration_ns, 0, 2 * bytes FROM copies WHERE copy_kind = 'DtoD' AND bytes > (SELECT max(bytes) FROM declared) / 4
    UNION ALL
    SELECT 'GEMM', k.duration_ns, c.flops, c.bytes
    FROM library_call c JOIN correlation_link l ON l.process_id = c.process_id AND l.external_id = c.external_id
      JOIN kernels k ON k.process_id = l.process_id AND k.correlation = l.correlation),
  kernel_rate AS (
    SELECT name, count(*) AS runs, max(1.0 * flops / bytes) AS intensity, max(1.0 * flops / duration_ns) AS flops_per_ns,
           max(1.0 * bytes / duration_ns) AS bytes_per_ns
    FROM run WHERE duration_ns > 0 GROUP BY name),
  roof AS (SELECT max(flops_per_ns) AS compute, max(bytes_per_ns) AS memory FROM kernel_rate),
  share AS (SELECT name, runs, intensity, flops_per_ns / compute AS c, bytes_per_ns / memory AS m FROM kernel_rate, roof),
  verdict AS (
    SELECT name, c, m, CASE
      WHEN m > 0.75 AND c < 0.25 THEN 'memory-bound'
      WHEN c > 0.75 AND m < 0.50 THEN 'compute-bound'
      WHEN max(c, m) > 0.60 THEN CASE WHEN c > m THEN 'compute-bound' ELSE 'memory-bound' END
      ELSE 'latency-bound' END AS verdict
    FROM share),
  known(name, verdict) AS (
    VALUES ('layer norm', 'memory-bound'), ('softmax', 'memory-bound'), ('decode GEMV', 'memory-bound'), ('GEMM', 'compute-bound'))
SELECT known.name || ' is ' || known.verdict AS check_name, v.verdict = known.verdict AS passed,
       v.verdict || ': ' || round(100 * v.c) || ' % of the compute roof, ' || round(100 * v.m) || ' % of the memory roof' AS detail
FROM known LEFT JOIN verdict v ON v.name = known.name
UNION ALL
SELECT 'each kernel ran as often as the others, in every round', count(*) = 3 AND min(runs) = max(runs) AND min(runs) >= :repeats,
       min(runs) || '..' || max(runs)
FROM share WHERE name IN ('layer norm', 'softmax', 'decode GEMV')
UNION ALL
SELECT 'the roofs were measured as often', count(*) = 2 AND min(runs) = (SELECT runs FROM share WHERE name = 'softmax')
       AND max(runs) = min(runs), min(runs) || '..' || max(runs) FROM share WHERE name IN ('copy', 'read')
UNION ALL
SELECT 'memory-bound kernels have less than one FLOP a byte', max(intensity) < 1, round(max(intensity), 2)
FROM share WHERE name NOT IN ('GEMM', 'copy')
UNION ALL
SELECT 'the GEMM lies beyond the ridge', intensity > (SELECT compute / memory FROM roof),
       round(intensity, 1) || ' against ' || (SELECT round(compute / memory, 1) FROM roof) FROM share WHERE name = 'GEMM'
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
