-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of the lesson "copies": rows (check_name, passed, detail).
WITH
  experiment AS (SELECT process_id, thread_id, name, start_ns, start_ns + duration_ns AS end_ns FROM ranges
                 WHERE name IN ('resident', 'pageable', 'pinned', 'overlapped', 'synchronized', 'pageable async', 'pinned async')),
  copied AS (
    SELECT e.name, c.*, c.start_ns + c.duration_ns AS end_ns, a.duration_ns AS call_ns
    FROM experiment e JOIN api_calls a ON a.process_id = e.process_id AND a.thread_id = e.thread_id
           AND a.start_ns >= e.start_ns AND a.start_ns < e.end_ns
         JOIN copies c ON c.process_id = a.process_id AND c.correlation = a.correlation),
  computed AS (
    SELECT e.name, k.start_ns, k.start_ns + k.duration_ns AS end_ns, k.stream
    FROM experiment e JOIN api_calls a ON a.process_id = e.process_id AND a.thread_id = e.thread_id
           AND a.start_ns >= e.start_ns AND a.start_ns < e.end_ns
         JOIN kernels k ON k.process_id = a.process_id AND k.correlation = a.correlation),
  overlap AS (
    SELECT c.name, sum(max(0, min(c.end_ns, k.end_ns) - max(c.start_ns, k.start_ns))) AS ns
    FROM copied c JOIN computed k ON k.name = c.name GROUP BY c.name)
SELECT 'resident data is not copied' AS check_name, count(*) = 0 AS passed, count(*) AS detail FROM copied WHERE name = 'resident'
UNION ALL
SELECT 'pageable copies are seen as pageable', min(source_kind = 'pageable'), count(*) FROM copied WHERE name IN ('pageable', 'pageable async')
UNION ALL
SELECT 'pinned copies are seen as pinned', min(source_kind = 'pinned'), count(*)
FROM copied WHERE name IN ('pinned', 'overlapped', 'synchronized', 'pinned async')
UNION ALL
SELECT 'on a second stream copies overlap compute', ns > 0, ns FROM overlap WHERE name = 'overlapped'
UNION ALL
SELECT 'in one stream they do not', coalesce(max(ns), 0) = 0, max(ns) FROM overlap WHERE name IN ('pageable', 'pinned')
UNION ALL
SELECT 'nor when the device is synchronized in between', coalesce(max(ns), 0) = 0, max(ns) FROM overlap WHERE name = 'synchronized'
UNION ALL
SELECT 'the call waits for a pageable copy', avg(call_ns) > 0.5 * avg(duration_ns), round(avg(call_ns) / avg(duration_ns), 2)
FROM copied WHERE name = 'pageable async'
UNION ALL
SELECT 'the call does not wait for a pinned copy', min(call_ns) < 0.5 * avg(duration_ns), round(avg(call_ns) / avg(duration_ns), 2)
FROM copied WHERE name = 'pinned async'
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
