-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of the lesson "timing": rows (check_name, passed, detail).
WITH
  gemm AS (
    SELECT g.m, l.correlation, g.process_id, a.start_ns, a.start_ns + a.duration_ns AS returned_ns, k.start_ns AS kernel_ns,
           k.start_ns + k.duration_ns AS kernel_end_ns, k.duration_ns
    FROM library_call g JOIN correlation_link l ON l.process_id = g.process_id AND l.external_id = g.external_id
         JOIN kernel k ON k.process_id = g.process_id AND k.correlation = l.correlation
         JOIN api_call a ON a.process_id = g.process_id AND a.correlation = l.correlation),
  method AS (SELECT process_id, name, start_ns, start_ns + duration_ns AS end_ns FROM ranges
             WHERE name IN ('without synchronize', 'with synchronize', 'with events'))
SELECT 'every size was timed in three ways' AS check_name, count(DISTINCT name) = 3 AS passed, count(*) AS detail FROM method
UNION ALL
SELECT 'a call without synchronize returns before its kernel ends', avg(g.returned_ns < g.kernel_end_ns) > 0.5, count(*)
FROM gemm g JOIN method m ON m.process_id = g.process_id AND g.start_ns >= m.start_ns AND g.start_ns < m.end_ns
WHERE m.name = 'without synchronize' AND g.m = (SELECT max(m) FROM gemm)
UNION ALL
SELECT 'timed with synchronize, the kernel lies within the range', min(g.kernel_end_ns <= m.end_ns), count(*)
FROM gemm g JOIN method m ON m.process_id = g.process_id AND g.start_ns >= m.start_ns AND g.start_ns < m.end_ns
WHERE m.name = 'with synchronize'
UNION ALL
SELECT 'larger products take longer', (SELECT avg(duration_ns) FROM gemm WHERE m = (SELECT max(m) FROM gemm))
         > (SELECT avg(duration_ns) FROM gemm WHERE m = (SELECT min(m) FROM gemm)), NULL
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
