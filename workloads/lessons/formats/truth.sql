-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of the lesson "formats": rows (check_name, passed, detail).
SELECT 'one conversion and one accumulation' AS check_name,
       (SELECT count(*) FROM kernels WHERE name = 'roundThroughFormats') = 1
         AND (SELECT count(*) FROM kernels WHERE name = 'accumulate') = 1 AS passed,
       (SELECT count(*) FROM kernels) AS detail
UNION ALL
SELECT 'four loss scales, each in its range', count(*) = 4 AND count(DISTINCT r.id) = 4, count(*)
FROM kernels k JOIN api_calls a ON a.process_id = k.process_id AND a.correlation = k.correlation
     JOIN ranges r ON r.process_id = a.process_id AND r.thread_id = a.thread_id AND r.name = 'loss scale'
       AND a.start_ns >= r.start_ns AND a.start_ns < r.start_ns + r.duration_ns
WHERE k.name = 'countLostGradients'
UNION ALL
SELECT 'the additions run one after the other in one thread', count(*) = 1 AND max(grid_x * block_x) = 1, max(grid_x * block_x)
FROM kernels WHERE name = 'accumulate'
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
