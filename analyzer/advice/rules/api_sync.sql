-- SPDX-License-Identifier: Apache-2.0
-- Calls that wait for the device
-- cudaDeviceSynchronize, cudaStreamSynchronize, cudaEventSynchronize … after which the device was idle for more than 1 % of its span
-- remedy: Remove the call, or wait for the one event that is needed, as late as possible; let the device queue
--   work ahead meanwhile.
WITH device AS (
  SELECT rank, pid, sum(span_ns) AS span_ns, sum(idle_ns) AS idle_ns FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) GROUP BY rank, pid),
site AS (
  SELECT rank, pid, api, in_range, sum(waits) AS waits, sum(total_ns) AS total_ns, sum(gpu_idle_ns) AS gpu_idle_ns,
         row_number() OVER (PARTITION BY rank, pid, api ORDER BY sum(gpu_idle_ns) DESC) AS place
  FROM report_synchronizations(:rank, :step, :range, :from_ns, :to_ns, 'site') WHERE waits_for <> 'copy' GROUP BY rank, pid, api, in_range),
call AS (
  SELECT s.rank, s.pid, s.api, sum(s.waits) AS waits, sum(s.total_ns) AS total_ns, sum(s.gpu_idle_ns) AS gpu_idle_ns, d.span_ns,
         min(sum(s.gpu_idle_ns), sum(s.total_ns), d.idle_ns) AS gain_ns
  FROM site s JOIN device d ON d.pid = s.pid AND d.rank IS s.rank GROUP BY s.rank, s.pid, s.api)
SELECT c.rank AS rank,
       printf('%s was called %d times and waited %.2f ms; afterwards the device was idle for %.2f ms until new work came%s', c.api, c.waits,
              c.total_ns / 1e6, c.gpu_idle_ns / 1e6, iif(s.in_range IS NULL OR s.waits = c.waits, coalesce(', in ''' || s.in_range || '''', ''),
              printf(', most of it in ''%s'': %d times, %.2f ms', s.in_range, s.waits, s.gpu_idle_ns / 1e6))) AS finding,
       c.gain_ns AS gain_ns,
       iif(c.gain_ns < c.gpu_idle_ns, printf('the device was idle for %.2f ms after the waits; without them the host would be at most as much earlier as they took, %.2f ms', c.gpu_idle_ns / 1e6, c.total_ns / 1e6),
           printf('the device''s idle time that followed the waits: %.2f ms', c.gain_ns / 1e6)) AS arithmetic,
       NULL AS start_ns, NULL AS end_ns, NULL AS evidence, s.in_range AS range, NULL AS cannot_say
FROM call c JOIN site s ON s.pid = c.pid AND s.rank IS c.rank AND s.api IS c.api AND s.place = 1 WHERE c.gain_ns > 0.01 * c.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'neither API calls nor synchronizations were recorded'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call) AND NOT EXISTS (SELECT 1 FROM main.synchronization);
