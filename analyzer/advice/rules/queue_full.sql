-- SPDX-License-Identifier: Apache-2.0
-- The launch queue is full
-- Launch calls that had to wait because 1024 or more launches were in the stream's queue
-- needs: device work
-- threshold: 1024 launches in a queue
-- remedy: Nothing is wrong with the device: the host is far ahead. Do not measure its time as if it worked; a CUDA graph frees it.
WITH blocked AS (
  SELECT rank, pid, sum(blocked_ns) AS blocked_ns, max(max_depth) AS max_depth
  FROM report_launch(:rank, :step, :range, :from_ns, :to_ns, 'name') GROUP BY rank, pid HAVING sum(blocked_ns) > 1000000),
longest AS (
  SELECT p.pid AS pid, p.rank AS rank, a.id AS id, a.start_ns AS start_ns, max(a.duration_ns) AS duration_ns
  FROM host_window(:rank, :step, :range, :from_ns, :to_ns) w JOIN analysis_processes p ON p.id = w.process_id
       CROSS JOIN main.api_call a ON a.process_id = w.process_id AND a.start_ns >= w.start_ns AND a.start_ns < w.end_ns
  WHERE EXISTS (SELECT 1 FROM blocked) AND a.name_id IN (SELECT id FROM main.string WHERE text GLOB '*Launch*') GROUP BY p.id)
SELECT b.rank AS rank, b.pid AS pid,
       printf('launch calls waited %.6f ms for room in the queue (deepest: %d launches)', b.blocked_ns / 1e6, b.max_depth) AS finding,
       NULL AS gain_ns, 'the device is busy meanwhile: no time to gain' AS arithmetic, l.start_ns AS start_ns, l.start_ns + l.duration_ns AS end_ns,
       'api_call ' || l.id AS evidence, NULL AS cannot_say
FROM blocked b LEFT JOIN longest l ON l.pid = b.pid AND l.rank IS b.rank
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no API calls were recorded, so it is not known how deep the queue was'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded' WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown);
