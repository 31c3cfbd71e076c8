-- SPDX-License-Identifier: Apache-2.0
-- Hidden synchronization in the step
-- Places of the code that wait for the device again and again (reading the loss, .item(), .cpu(), nonzero, a blocking copy), after which it was idle for more than 3 % of its span
-- remedy: Read values every N steps only, keep them on the device (loss.detach()), copy with non_blocking=True and read
--   later, use torch.where in place of boolean indexing.
WITH device AS (
  SELECT rank, pid, sum(span_ns) AS span_ns, sum(idle_ns) AS idle_ns FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) GROUP BY rank, pid),
site AS (
  SELECT rank, pid, tid, api, in_range, waits, gpu_idle_ns, row_number() OVER (PARTITION BY rank, pid ORDER BY gpu_idle_ns DESC) AS place
  FROM report_synchronizations(:rank, :step, :range, :from_ns, :to_ns, 'site') WHERE gpu_idle_ns > 0 AND (waits >= 3 OR :step IS NOT NULL)),
wait AS (
  SELECT pid, tid, api, start_ns, start_ns + total_ns AS end_ns, row_number() OVER (PARTITION BY pid, tid, api ORDER BY gpu_idle_ns DESC) AS place
  FROM report_synchronizations(:rank, :step, :range, :from_ns, :to_ns, 'instance')),
total AS (
  SELECT s.rank, s.pid, sum(s.waits) AS waits, sum(s.gpu_idle_ns) AS gpu_idle_ns, min(sum(s.gpu_idle_ns), d.idle_ns) AS gain_ns, d.span_ns
  FROM site s JOIN device d ON d.pid = s.pid AND d.rank IS s.rank GROUP BY s.rank, s.pid)
SELECT t.rank AS rank,
       printf('%d waits for the device at repeated places left it idle for %.2f ms (%.1f %% of its span) until the next work came; most of it: %s%s, %d times, %.2f ms',
              t.waits, t.gain_ns / 1e6, 100.0 * t.gain_ns / t.span_ns, coalesce(s.api, 'a wait'), coalesce(' in ' || s.in_range, ''), s.waits, s.gpu_idle_ns / 1e6) AS finding,
       t.gain_ns AS gain_ns, printf('the device''s idle time from each wait to the next work: %.2f ms', t.gain_ns / 1e6) AS arithmetic,
       w.start_ns AS start_ns, w.end_ns AS end_ns,
       (SELECT 'api_call ' || a.id FROM main.process p JOIN main.api_call a ON a.process_id = p.id WHERE p.pid = t.pid AND p.rank IS t.rank AND a.start_ns = w.start_ns LIMIT 1) AS evidence,
       NULL AS cannot_say
FROM total t JOIN site s ON s.pid = t.pid AND s.rank IS t.rank AND s.place = 1
     LEFT JOIN wait w ON w.pid = s.pid AND w.tid IS s.tid AND w.api IS s.api AND w.place = 1
WHERE t.gain_ns > 0.03 * t.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'neither API calls nor synchronizations were recorded'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call) AND NOT EXISTS (SELECT 1 FROM main.synchronization);
