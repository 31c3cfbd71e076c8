-- SPDX-License-Identifier: Apache-2.0
-- Calls that wait for the device
-- cudaDeviceSynchronize, cudaStreamSynchronize, cudaEventSynchronize … without which the device would have been idle for more than 0.5 % of its span less, unless they are one place of Hidden synchronization; costs as in report synchronizations
-- needs: device work
-- remedy: Remove the call, or wait for the one event that is needed, as late as possible; let the device queue
--   work ahead meanwhile.
WITH device AS (
  SELECT rank, pid, sum(span_ns) AS span_ns, sum(idle_ns) AS idle_ns FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) GROUP BY rank, pid),
wait AS (
  SELECT *, row_number() OVER (PARTITION BY rank, pid, api ORDER BY avoidable_ns DESC) AS place
  FROM report_synchronizations(:rank, :step, :range, :from_ns, :to_ns, 'instance') WHERE waits_for <> 'copy'),
site AS (
  SELECT rank, pid, api, in_range, sum(waits) AS waits, sum(avoidable_ns) AS avoidable_ns,
         row_number() OVER (PARTITION BY rank, pid, api ORDER BY sum(avoidable_ns) DESC) AS place
  FROM wait GROUP BY rank, pid, api, in_range),
call AS (
  SELECT w.rank, w.pid, w.api, sum(w.waits) AS waits, sum(w.total_ns) AS total_ns, sum(w.gpu_idle_ns) AS gpu_idle_ns, sum(w.exposed_host_ns) AS exposed_host_ns, sum(w.refill_ns) AS refill_ns,
         d.span_ns, min(sum(w.avoidable_ns), d.idle_ns) AS gain_ns
  FROM wait w JOIN device d ON d.pid = w.pid AND d.rank IS w.rank GROUP BY w.rank, w.pid, w.api)
SELECT c.rank AS rank, c.pid AS pid,
       printf('%s was called %d time%s and waited %.6f ms; it left the device idle for %.6f ms, and for %.6f ms more while the host made the next work ready%s%s', c.api, c.waits, iif(c.waits = 1, '', 's'),
              c.total_ns / 1e6, c.gpu_idle_ns / 1e6, c.exposed_host_ns / 1e6, iif(c.refill_ns > 0, printf(', and for %.6f ms in later gaps until its launches were ahead again', c.refill_ns / 1e6), ''),
              iif(s.in_range IS NULL OR s.waits = c.waits, coalesce(', in ''' || s.in_range || '''', ''),
              printf(', most of it in ''%s'': %d of them, %.6f ms', s.in_range, s.waits, s.avoidable_ns / 1e6))) AS finding,
       c.gain_ns AS gain_ns,
       printf('of each wait the idle time that it caused, that followed it until the next work, and of later gaps until the host had caught up, at most the wait itself: %.6f ms', c.gain_ns / 1e6) AS arithmetic,
       w.start_ns AS start_ns, w.start_ns + w.total_ns AS end_ns,
       (SELECT 'api_call ' || a.id FROM analysis_processes p CROSS JOIN main.api_call a ON a.process_id = p.id WHERE p.pid = w.pid AND p.rank IS w.rank AND a.start_ns = w.start_ns LIMIT 1) AS evidence,
       s.in_range AS range, NULL AS cannot_say
FROM call c JOIN site s ON s.pid = c.pid AND s.rank IS c.rank AND s.api IS c.api AND s.place = 1
     JOIN wait w ON w.pid = c.pid AND w.rank IS c.rank AND w.api IS c.api AND w.place = 1
WHERE c.gain_ns > 0.005 * c.span_ns AND NOT (s.waits >= 5 AND s.avoidable_ns > 0.005 * c.span_ns AND s.avoidable_ns > 0.8 * c.gain_ns)  -- that is Hidden synchronization
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'neither API calls nor synchronizations were recorded'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call) AND NOT EXISTS (SELECT 1 FROM main.synchronization)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded' WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown);
