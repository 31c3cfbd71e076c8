-- SPDX-License-Identifier: Apache-2.0
-- Steps lost to the loss scale
-- More than 5 % of the steps were skipped because gradients overflowed
-- threshold: 5 % of the steps
-- remedy: Start with a smaller scale (GradScaler(init_scale=2**12)), let it grow less often (growth_interval), or use bf16,
--   which needs no scaling.
WITH scaler AS (
  SELECT rank, pid, max(count) AS skipped FROM report_precision(:rank, :step, :range, :from_ns, :to_ns, 'summary') WHERE what = 'skipped steps' GROUP BY rank, pid),
step AS (
  SELECT rank, pid, count(DISTINCT step) AS steps, median(coalesce(host_ns, span_ns)) AS median_ns, min(warmup) AS is_warmup FROM analysis_steps(:rank, :step, :range, :from_ns, :to_ns) GROUP BY rank, pid),
event AS (
  SELECT rank, pid, min(time_ns) AS first_ns, max(time_ns) AS last_ns FROM report_precision(:rank, :step, :range, :from_ns, :to_ns, 'time')
  WHERE what = 'skipped step' GROUP BY rank, pid)
SELECT c.rank AS rank, c.pid AS pid, printf('%d of %d steps were skipped by the loss scaler', c.skipped, s.steps) AS finding,
       CAST(c.skipped * s.median_ns AS INTEGER) AS gain_ns, printf('%d steps x %.6f ms (median step)', c.skipped, s.median_ns / 1e6) AS arithmetic,
       e.first_ns AS start_ns, e.last_ns AS end_ns,
       (SELECT 'range ' || r.id FROM analysis_processes p CROSS JOIN main.range r ON r.process_id = p.id
        WHERE p.pid = c.pid AND p.rank IS c.rank AND r.start_ns = e.first_ns LIMIT 1) AS evidence, NULL AS cannot_say
FROM scaler c JOIN step s ON s.pid = c.pid AND s.rank IS c.rank LEFT JOIN event e ON e.pid = c.pid AND e.rank IS c.rank
WHERE c.skipped > 0.05 * s.steps AND NOT s.is_warmup -- the first steps find the scale
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       iif(EXISTS (SELECT 1 FROM operator WHERE name_id IN (SELECT id FROM main.string WHERE text GLOB 'aten::_amp_*')),
           'a loss scaler ran, but neither its scale nor skipped steps were recorded', 'neither a loss scale nor skipped steps were recorded')
WHERE NOT EXISTS (SELECT 1 FROM report_precision WHERE what IN ('skipped steps', 'loss scale'));
