-- SPDX-License-Identifier: Apache-2.0
-- The device waits for launches
-- More than 10 % of the device's span is idle because the host launched the next work too late; of idle time after a wait for the device, what the host would have saved without the wait is not counted here
-- remedy: Capture the step in a CUDA graph (torch.compile(mode="reduce-overhead")), fuse small kernels (torch.compile), use
--   a larger batch, keep the launching thread free of Python work and of making data that the device could make.
WITH waited AS (
  SELECT rank, pid, sum(min(gpu_idle_ns, total_ns)) AS gpu_idle_ns FROM report_synchronizations(:rank, :step, :range, :from_ns, :to_ns, 'instance') GROUP BY rank, pid),
late AS (
  SELECT i.rank AS rank, i.pid AS pid, i.device AS device, sum(i.idle_ns) AS idle_ns, max(i.gaps) AS gaps, max(sum(i.idle_ns) - coalesce(w.gpu_idle_ns, 0), 0) AS gain_ns
  FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'cause') i LEFT JOIN waited w ON w.pid = i.pid AND w.rank IS i.rank
  WHERE i.cause = 'launch_bound' GROUP BY i.rank, i.pid, i.device),
place AS (
  SELECT rank, pid, device, host_range, idle_ns, row_number() OVER (PARTITION BY rank, pid, device ORDER BY idle_ns DESC) AS place
  FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'range') WHERE cause = 'launch_bound' AND host_range IS NOT NULL),
gap AS (
  SELECT rank, pid, device, start_ns, start_ns + idle_ns AS end_ns, row_number() OVER (PARTITION BY rank, pid, device ORDER BY idle_ns DESC) AS place
  FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'gap') WHERE cause = 'launch_bound')
SELECT l.rank AS rank,
       printf('device %d was idle for %.2f ms (%.1f %% of its span) in up to %d gaps because its next work had not been launched yet%s', l.device,
              l.gain_ns / 1e6, 100.0 * l.gain_ns / b.span_ns, l.gaps,
              coalesce(printf('; most of all such gaps, %.2f ms, while the host was in ''%s''', p.idle_ns / 1e6, p.host_range), '')) AS finding,
       l.gain_ns AS gain_ns,
       printf('%.2f ms of gaps - %.2f ms of them at most that waits for the device explain', l.idle_ns / 1e6, (l.idle_ns - l.gain_ns) / 1e6) AS arithmetic,
       g.start_ns AS start_ns, g.end_ns AS end_ns, (SELECT 'kernel ' || k.id FROM main.process p JOIN main.kernel k ON k.process_id = p.id WHERE p.pid = g.pid AND p.rank IS g.rank AND k.start_ns = g.end_ns LIMIT 1) AS evidence, p.host_range AS range, NULL AS cannot_say
FROM late l JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = l.pid AND b.rank IS l.rank AND b.device = l.device
     LEFT JOIN place p ON p.pid = l.pid AND p.rank IS l.rank AND p.device = l.device AND p.place = 1
     LEFT JOIN gap g ON g.pid = l.pid AND g.rank IS l.rank AND g.device = l.device AND g.place = 1
WHERE l.gain_ns > 0.1 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no API calls were recorded, so it is not known when work was launched'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call);
