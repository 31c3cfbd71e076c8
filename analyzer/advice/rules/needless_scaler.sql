-- SPDX-License-Identifier: Apache-2.0
-- A loss scale that nothing needs
-- A loss scale in a run without matrix products in fp16: bf16, tf32 and fp32 have the range of fp32
-- needs: device work
-- remedy: Leave GradScaler out (or enabled=False): it reads every gradient once more and makes the host wait in every step.
WITH product AS (
  SELECT rank, pid, group_concat(DISTINCT dtype) AS dtypes, max(dtype = 'fp16') AS has_half FROM report_precision(:rank, :step, :range, :from_ns, :to_ns, 'summary')
  WHERE what = 'matrix product' AND dtype <> 'unknown' GROUP BY rank, pid),
recorded AS (
  SELECT rank, pid, sum(count) AS count FROM report_precision(:rank, :step, :range, :from_ns, :to_ns, 'summary') WHERE what = 'loss scale' GROUP BY rank, pid),
called AS ( -- GradScaler's own operators
  SELECT rank, pid, sum(iif(name GLOB 'aten::_amp_update_scale*', calls, 0)) AS count, sum(gpu_total_ns) AS gpu_ns
  FROM analysis_ops(:rank, :step, :range, :from_ns, :to_ns) c WHERE name GLOB 'aten::_amp_*'
    AND NOT EXISTS (SELECT 1 FROM recorded r WHERE r.pid = c.pid AND r.rank IS c.rank) GROUP BY rank, pid),
scale AS (SELECT * FROM recorded UNION ALL SELECT rank, pid, count FROM called),
unscale AS (
  SELECT rank, pid, 'in ''unscale''' AS place, sum(gpu_total_ns) AS gpu_ns FROM analysis_ranges(:rank, :step, :range, :from_ns, :to_ns) WHERE name = 'unscale' AND pid NOT IN (SELECT pid FROM called) GROUP BY rank, pid
  UNION ALL SELECT rank, pid, 'of its operators', gpu_ns FROM called),
example AS (
  SELECT p.pid AS pid, p.rank AS rank, 'operator ' || r.id AS event, r.start_ns AS start_ns, max(r.duration_ns) AS duration_ns
  FROM operator r JOIN analysis_processes p ON p.id = r.process_id JOIN called c ON c.pid = p.pid AND c.rank IS p.rank
  WHERE r.name_id IN (SELECT id FROM main.string WHERE text GLOB 'aten::_amp_*') GROUP BY p.id
  UNION ALL
  SELECT p.pid AS pid, p.rank AS rank, 'range ' || r.id AS event, r.start_ns AS start_ns, max(r.duration_ns) AS duration_ns
  FROM main.range r JOIN analysis_processes p ON p.id = r.process_id WHERE r.name_id IN (SELECT id FROM main.string WHERE text = 'unscale')
    AND p.pid NOT IN (SELECT pid FROM called) GROUP BY p.id),
waits AS (
  SELECT rank, pid, sum(avoidable_ns) AS idle_ns FROM report_synchronizations(:rank, :step, :range, :from_ns, :to_ns, 'site') WHERE in_range = 'unscale' GROUP BY rank, pid)
SELECT f.rank AS rank, f.pid AS pid, printf('the loss was scaled in %d steps, but the matrix products are %s', c.count, replace(f.dtypes, ',', ', ')) AS finding,
       iif(u.gpu_ns IS NULL, NULL, u.gpu_ns + coalesce(w.idle_ns, 0)) AS gain_ns,
       iif(u.gpu_ns IS NOT NULL, printf('%.6f ms of work of the device %s + %.6f ms idle in and after its waits', u.gpu_ns / 1e6, u.place, coalesce(w.idle_ns, 0) / 1e6), 'cannot say, because no range called unscale was recorded') AS arithmetic,
       e.start_ns AS start_ns, e.start_ns + e.duration_ns AS end_ns, e.event AS evidence, NULL AS cannot_say
FROM product f JOIN scale c ON c.pid = f.pid AND c.rank IS f.rank LEFT JOIN unscale u ON u.pid = f.pid AND u.rank IS f.rank LEFT JOIN waits w ON w.pid = f.pid AND w.rank IS f.rank
     LEFT JOIN example e ON e.pid = f.pid AND e.rank IS f.rank
WHERE NOT f.has_half AND c.count > 0
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'the data types of matrix products were not recorded'
WHERE NOT EXISTS (SELECT 1 FROM report_precision WHERE what = 'matrix product' AND dtype IS NOT NULL);
