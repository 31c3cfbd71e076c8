-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of the lesson "faults" with --fault missing-rank: rows (check_name, passed, detail).
-- Parameters: :ranks, :timeout_ms. The last rank stays away from the all-reduce after the third.
WITH
  experiment AS (
    SELECT process_id, rank, start_ns FROM ranges WHERE name = 'missing rank'),
  reduced AS (
    SELECT c.rank, count(*) AS n, max(c.device_duration_ns) AS longest_ns
    FROM experiment e JOIN collectives c ON c.process_id = e.process_id AND c.start_ns >= e.start_ns
    WHERE c.operation = 'AllReduce' GROUP BY c.rank)
SELECT 'the last rank called three all-reduces' AS check_name, n = 3 AS passed, n AS detail FROM reduced WHERE rank = :ranks - 1
UNION ALL
SELECT 'every other one more', count(*) = :ranks - 1 AND min(n) = 4 AND max(n) = 4, min(n) || '..' || max(n)
FROM reduced WHERE rank < :ranks - 1
UNION ALL
SELECT 'the last rank was in the range "stuck" as long as the others waited', count(*) = 1 AND min(duration_ns) > 0.5e6 * :timeout_ms,
       round(min(duration_ns) / 1e6) FROM ranges WHERE name = 'stuck' AND rank = :ranks - 1
UNION ALL
SELECT 'the others aborted after the watchdog''s time', count(*) = :ranks - 1 AND min(r.start_ns - e.start_ns) > 1e6 * :timeout_ms, count(*)
FROM ranges r JOIN experiment e ON e.process_id = r.process_id WHERE r.name = 'abort' AND r.rank < :ranks - 1;
