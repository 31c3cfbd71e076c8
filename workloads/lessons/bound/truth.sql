-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of the lesson "bound": rows (check_name, passed, detail). Parameter: :repeats.
WITH
  declared AS (
    SELECT r.name, k.id AS kernel_id,
           (SELECT p.value FROM range_payload p JOIN string s ON s.id = p.name_id WHERE p.range_id = r.id AND s.text = 'flops') AS flops,
           (SELECT p.value FROM range_payload p JOIN string s ON s.id = p.name_id WHERE p.range_id = r.id AND s.text = 'bytes') AS bytes
    FROM ranges r JOIN api_calls a ON a.process_id = r.process_id AND a.thread_id = r.thread_id
           AND a.start_ns >= r.start_ns AND a.start_ns < r.start_ns + r.duration_ns
         JOIN kernels k ON k.process_id = a.process_id AND k.correlation = a.correlation
    WHERE r.name IN ('layer norm', 'softmax', 'decode GEMV')),
  product AS (SELECT flops / bytes AS intensity FROM library_call)
SELECT 'each memory-bound kernel ran once more than it was measured' AS check_name,
       count(*) = 3 AND min(n) = :repeats + 1 AND max(n) = :repeats + 1 AS passed, min(n) || '..' || max(n) AS detail
FROM (SELECT name, count(*) AS n FROM declared WHERE flops > 0 GROUP BY name)
UNION ALL
SELECT 'they declare less than one FLOP a byte', min(1.0 * flops / bytes < 1.0), count(*) FROM declared WHERE flops > 0
UNION ALL
SELECT 'the GEMM has more than a hundred', count(*) > 0 AND min(intensity) > 100, min(intensity) FROM product
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
