-- SPDX-License-Identifier: Apache-2.0
-- Copies that nothing covers
-- Time in which a device only copies, more than 0.5 % of its span; without the set-up: what comes before the first step, or without steps what ranges called setup launched
-- needs: device work
-- remedy: Copy on a second stream from pinned memory while the step before computes (prefetch the next batch); keep data that
--   is used every step on the device.
WITH begin AS (
  SELECT p.pid AS pid, p.rank AS rank,
         coalesce((SELECT min(s.start_ns) FROM analysis_steps(:rank) s WHERE s.pid = p.pid AND s.rank IS p.rank),
                  (SELECT max(g.gpu_start_ns + g.gpu_span_ns) FROM analysis_ranges_by_instance(:rank) g WHERE g.pid = p.pid AND g.rank IS p.rank AND lower(g.name) = 'setup')) AS ns
  FROM analysis_processes p WHERE :rank IS NULL OR p.rank = :rank),
part AS (
  SELECT b.*, n.ns AS begin_ns FROM begin n JOIN analysis_breakdown(n.rank, :step, :range, iif(n.ns IS NULL, :from_ns, max(coalesce(:from_ns, n.ns), n.ns)), :to_ns) b
       ON b.pid = n.pid AND b.rank IS n.rank
  WHERE :to_ns IS NULL OR n.ns IS NULL OR n.ns < :to_ns),
longest AS (
  SELECT process_id, device, work, id, start_ns, max(duration_ns) AS duration_ns FROM (
  SELECT c.process_id AS process_id, d.ordinal AS device, 'memory_copy' AS work, c.id AS id, c.start_ns AS start_ns, c.duration_ns AS duration_ns
  FROM gpu_window(:rank, :step, :range, :from_ns, :to_ns) w
       JOIN analysis_processes p ON p.id = w.process_id JOIN begin n ON n.pid = p.pid AND n.rank IS p.rank
       CROSS JOIN main.memory_copy c ON c.process_id = w.process_id AND c.start_ns >= w.start_ns AND c.start_ns < w.end_ns JOIN main.device d ON d.id = c.device_id
  WHERE c.flags & 1 = 0 AND c.start_ns >= coalesce(n.ns, c.start_ns)
  UNION ALL
  SELECT c.process_id, d.ordinal, 'memory_set', c.id, c.start_ns, c.duration_ns
  FROM gpu_window(:rank, :step, :range, :from_ns, :to_ns) w
       JOIN analysis_processes p ON p.id = w.process_id JOIN begin n ON n.pid = p.pid AND n.rank IS p.rank
       CROSS JOIN main.memory_set c ON c.process_id = w.process_id AND c.start_ns >= w.start_ns AND c.start_ns < w.end_ns JOIN main.device d ON d.id = c.device_id
  WHERE c.flags & 1 = 0 AND c.start_ns >= coalesce(n.ns, c.start_ns)) GROUP BY process_id, device)
SELECT b.rank AS rank, b.pid AS pid,
       printf('device %d only copied or set memory for %.6f ms (%.1f %% of its span%s)', b.device, b.exposed_memory_ns / 1e6, 100.0 * b.exposed_memory_ns / b.span_ns,
              iif(b.begin_ns IS NULL, '', ' after the set-up')) || coalesce(printf('; the longest of them is a %s of %.6f ms', iif(l.work = 'memory_set', 'set', 'copy'), l.duration_ns / 1e6), '') AS finding,
       min(b.exposed_memory_ns, b.span_ns - b.exposed_memory_ns) AS gain_ns,
       iif(2 * b.exposed_memory_ns > b.span_ns, printf('the rest of the span, behind which the exposed copies and sets could be hidden: %.6f ms', (b.span_ns - b.exposed_memory_ns) / 1e6),
           printf('all of the exposed copies and sets hidden behind other work: %.6f ms', b.exposed_memory_ns / 1e6)) AS arithmetic,
       l.start_ns AS start_ns, l.start_ns + l.duration_ns AS end_ns, l.work || ' ' || l.id AS evidence,
       iif(l.work = 'memory_set', 'Do not set memory that is written before it is read (torch.empty, zero_grad(set_to_none=True)); copies: on a second stream from pinned memory while the step before computes.', NULL) AS remedy, NULL AS cannot_say
FROM part b LEFT JOIN analysis_processes p ON p.pid = b.pid AND p.rank IS b.rank LEFT JOIN longest l ON l.process_id = p.id AND l.device = b.device
WHERE b.span_ns > 0 AND b.exposed_memory_ns > 0.005 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded' WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown);
