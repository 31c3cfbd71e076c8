-- SPDX-License-Identifier: Apache-2.0
-- Many small kernels
-- Kernels of less than 10 µs on average with gaps between them, in which the next kernel was queued already or about to be, of more than 10 % of the device's span
-- remedy: Fuse them (torch.compile, Triton), capture the step in a CUDA graph, or give each more work (a larger batch).
WITH kernels AS (
  SELECT k.process_id, d.ordinal AS device, count(*) AS count, sum(k.duration_ns) AS total_ns, max(k.id) AS last_id, min(k.id) AS first_id
  FROM gpu_window(:rank, :step, :range, :from_ns, :to_ns) w
       JOIN main.kernel k ON k.process_id = w.process_id AND k.start_ns >= w.start_ns AND k.start_ns < w.end_ns
       JOIN main.device d ON d.id = k.device_id
  WHERE k.flags & 1 = 0 GROUP BY k.process_id, d.ordinal),
gap AS (
  SELECT rank, pid, device, sum(idle_ns) AS idle_ns, max(gaps) AS gaps FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'cause')
  WHERE evidence IN ('queued behind work of its own stream', 'from the launch call''s begin to the work''s start')
  GROUP BY rank, pid, device)
SELECT g.rank AS rank,
       printf('%d kernels of %.1f µs on average; between them device %d was idle for %.2f ms (%.1f %% of its span), though their launch was made or being made', k.count,
              k.total_ns / 1e3 / k.count, g.device, g.idle_ns / 1e6, 100.0 * g.idle_ns / b.span_ns) AS finding,
       g.idle_ns AS gain_ns, printf('the gaps before kernels that were queued or being launched closed: %.2f ms', g.idle_ns / 1e6) AS arithmetic,
       NULL AS start_ns, NULL AS end_ns, 'kernel ' || k.first_id || ', kernel ' || k.last_id AS evidence, NULL AS cannot_say
FROM gap g JOIN main.process p ON p.pid = g.pid AND p.rank IS g.rank JOIN kernels k ON k.process_id = p.id AND k.device = g.device
     JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = g.pid AND b.rank IS g.rank AND b.device = g.device
WHERE k.count >= 20 AND k.total_ns < 10000 * k.count AND g.idle_ns > 0.1 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no API calls were recorded, so it is not known when kernels were queued'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call);
