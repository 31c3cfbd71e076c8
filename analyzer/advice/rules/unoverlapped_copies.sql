-- SPDX-License-Identifier: Apache-2.0
-- Copies that nothing covers
-- Time in which a device only copies, more than 3 % of its span
-- remedy: Copy on a second stream from pinned memory while the step before computes (prefetch the next batch); keep data that
--   is used every step on the device.
WITH longest AS (
  SELECT c.process_id, d.ordinal AS device, c.id, c.start_ns, max(c.duration_ns) AS duration_ns
  FROM gpu_window(:rank, :step, :range, :from_ns, :to_ns) w
       JOIN main.memory_copy c ON c.process_id = w.process_id AND c.start_ns >= w.start_ns AND c.start_ns < w.end_ns JOIN main.device d ON d.id = c.device_id
  WHERE c.flags & 1 = 0 GROUP BY c.process_id, d.ordinal)
SELECT b.rank AS rank,
       printf('device %d only copied or set memory for %.2f ms (%.1f %% of its span)', b.device, b.exposed_memory_ns / 1e6, 100.0 * b.exposed_memory_ns / b.span_ns) AS finding,
       b.exposed_memory_ns AS gain_ns, printf('all of the exposed copies and sets hidden behind compute: %.2f ms', b.exposed_memory_ns / 1e6) AS arithmetic,
       l.start_ns AS start_ns, l.start_ns + l.duration_ns AS end_ns, 'memory_copy ' || l.id AS evidence, NULL AS cannot_say
FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b
     LEFT JOIN main.process p ON p.pid = b.pid AND p.rank IS b.rank LEFT JOIN longest l ON l.process_id = p.id AND l.device = b.device
WHERE b.span_ns > 0 AND b.exposed_memory_ns > 0.03 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded' WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown);
