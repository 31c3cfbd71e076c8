-- SPDX-License-Identifier: Apache-2.0
-- The device is little used
-- Less than half of the device's span has any work on it
-- needs: device work
-- threshold: half of the span without work
-- remedy: Find the largest causes in `plumb report idle FILE`; more work per step (batch size), CUDA graphs and fewer
--   waits fill the gaps.
-- remedy outside the steps: Find the largest causes in `plumb report idle FILE`: reading files, compiling, moving weights.
WITH cause AS (
  SELECT rank, pid, device, cause, sum(idle_ns) AS idle_ns, row_number() OVER (PARTITION BY rank, pid, device ORDER BY sum(idle_ns) DESC) AS place
  FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'cause') GROUP BY rank, pid, device, cause),
gap AS (
  SELECT *, row_number() OVER (PARTITION BY rank, pid, device ORDER BY idle_ns DESC) AS place FROM analysis_idle_gaps(:rank, :step, :range, :from_ns, :to_ns))
SELECT b.rank AS rank, b.pid AS pid,
       printf('device %d worked %.1f %% of its span (%.6f ms of %.6f ms); copies and sets count as work%s', b.device, 100.0 * b.busy_ns / b.span_ns,
              b.busy_ns / 1e6, b.span_ns / 1e6, iif(c.cause IS NULL, '', printf('; the largest cause of its idle time: %s, %.6f ms', replace(c.cause, '_', ' '), c.idle_ns / 1e6))) AS finding,
       b.idle_ns AS gain_ns, printf('all idle time filled: %.6f ms; findings about its causes are parts of it', b.idle_ns / 1e6) AS arithmetic,
       g.start_ns AS start_ns, g.start_ns + g.idle_ns AS end_ns,
       coalesce(g.after_table || ' ' || g.after_id, g.before_table || ' ' || g.before_id) AS evidence,
       iif(2 * g.idle_ns > b.idle_ns AND g.idle_ns > 1000000, 'Look at the one gap that most of it is: `plumb report idle FILE --by gap`.', NULL) AS remedy, NULL AS cannot_say
FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b
     LEFT JOIN cause c ON c.pid = b.pid AND c.rank IS b.rank AND c.device = b.device AND c.place = 1
     LEFT JOIN gap g ON g.pid = b.pid AND g.rank IS b.rank AND g.device = b.device AND g.place = 1
WHERE b.span_ns > 0 AND b.busy_ns < 0.5 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded'
WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown);
