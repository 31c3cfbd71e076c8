-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of the lesson "synchronization": rows (check_name, passed, detail). Parameter: :steps.
WITH
  loop AS (SELECT process_id, thread_id, name, start_ns, start_ns + duration_ns AS end_ns FROM ranges
           WHERE name IN ('loss read every step', 'loss read at the end')),
  wait AS (
    SELECT l.name, y.duration_ns FROM loop l JOIN synchronizations y ON y.process_id = l.process_id
      AND y.start_ns >= l.start_ns AND y.start_ns < l.end_ns WHERE y.name = 'stream synchronize'),
  launch AS (
    SELECT l.name, max(a.start_ns) - l.start_ns AS issued_ns, l.end_ns - l.start_ns AS total_ns
    FROM loop l JOIN api_calls a ON a.process_id = l.process_id AND a.thread_id = l.thread_id
         AND a.start_ns >= l.start_ns AND a.start_ns < l.end_ns
    WHERE a.name GLOB 'cudaLaunchKernel*' GROUP BY l.name)
SELECT 'a wait in every step when the loss is read' AS check_name, count(*) = :steps + 1 AS passed, count(*) AS detail
FROM wait WHERE name = 'loss read every step'
UNION ALL
SELECT 'one wait when it is read at the end', count(*) = 1, count(*) FROM wait WHERE name = 'loss read at the end'
UNION ALL
SELECT 'the same kernels in both loops',
       count(DISTINCT n) = 1, min(n) || '..' || max(n)
FROM (SELECT l.name, count(*) AS n FROM loop l JOIN api_calls a ON a.process_id = l.process_id AND a.start_ns >= l.start_ns
        AND a.start_ns < l.end_ns JOIN kernels k ON k.process_id = a.process_id AND k.correlation = a.correlation GROUP BY l.name)
UNION ALL
SELECT 'the free loop issues its last kernel earlier',
       (SELECT issued_ns FROM launch WHERE name = 'loss read at the end') < (SELECT issued_ns FROM launch WHERE name = 'loss read every step'),
       (SELECT group_concat(name || ': ' || issued_ns) FROM launch)
UNION ALL
SELECT 'data made on the device is not copied', count(*) = 0, count(*)
FROM ranges r JOIN api_calls a ON a.process_id = r.process_id AND a.thread_id = r.thread_id AND a.start_ns >= r.start_ns
       AND a.start_ns < r.start_ns + r.duration_ns
     JOIN copies c ON c.process_id = a.process_id AND c.correlation = a.correlation
WHERE r.name = 'made on the device'
UNION ALL
SELECT 'data made on the host is', count(*) >= 1 AND min(copy_kind = 'HtoD'), count(*)
FROM ranges r JOIN api_calls a ON a.process_id = r.process_id AND a.thread_id = r.thread_id AND a.start_ns >= r.start_ns
       AND a.start_ns < r.start_ns + r.duration_ns
     JOIN copies c ON c.process_id = a.process_id AND c.correlation = a.correlation
WHERE r.name = 'made on the host'
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
