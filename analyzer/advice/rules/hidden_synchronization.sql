-- SPDX-License-Identifier: Apache-2.0
-- Hidden synchronization
-- Places of the code (a range or operator) that wait for the device at least 5 times (reading the loss, .item(), .cpu(), nonzero, a blocking copy): what the device would gain without the waits is more than 0.5 % of its span, or the waits take more than 10 % of the range's time and it is more than 0.5 % of that; the three that cost most on each rank; costs as in report synchronizations
-- needs: device work
-- threshold: 5 waits at one place and 0.5 % of the span, or 10 % of a range's time
-- remedy: Read values every N steps only, keep them on the device (loss.detach()), copy with non_blocking=True and read
--   later, use torch.where in place of boolean indexing.
-- remedy without torch: Wait only where the host needs a result, for the stream or event that makes it; read values every N
--   steps only, or keep them on the device; copy asynchronously to pinned memory and read later; choose on the device, by a
--   mask, in place of fetching what decides.
WITH device AS (
  SELECT rank, pid, sum(span_ns) AS span_ns, sum(idle_ns) AS idle_ns FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) GROUP BY rank, pid),
wait AS (
  SELECT *, row_number() OVER (PARTITION BY rank, pid, tid, in_range, op, api ORDER BY avoidable_ns DESC) AS place
  FROM report_synchronizations(:rank, :step, :range, :from_ns, :to_ns, 'instance')),
call AS (
  SELECT rank, pid, tid, in_range, op, api, sum(waits) AS waits, sum(total_ns) AS total_ns, sum(gpu_idle_ns) AS gpu_idle_ns, sum(exposed_host_ns) AS exposed_host_ns, sum(refill_ns) AS refill_ns,
         sum(avoidable_ns) AS avoidable_ns, row_number() OVER (PARTITION BY rank, pid, tid, in_range, op ORDER BY sum(total_ns) DESC) AS place
  FROM wait GROUP BY rank, pid, tid, in_range, op, api),
site AS (
  SELECT rank, pid, tid, in_range, op, sum(total_ns) AS total_ns, sum(gpu_idle_ns) AS gpu_idle_ns, sum(exposed_host_ns) AS exposed_host_ns, sum(refill_ns) AS refill_ns, sum(avoidable_ns) AS avoidable_ns
  FROM call GROUP BY rank, pid, tid, in_range, op HAVING sum(avoidable_ns) > 0 AND (max(waits) >= 5 OR :step IS NOT NULL)),
ranges AS (
  SELECT rank, pid, name, sum(total_ns) AS total_ns FROM analysis_ranges(:rank, :step, :range, :from_ns, :to_ns) GROUP BY rank, pid, name),
cost AS (
  SELECT s.*, min(s.avoidable_ns, d.idle_ns) AS gain_ns, d.span_ns, r.total_ns AS range_ns
  FROM site s JOIN device d ON d.pid = s.pid AND d.rank IS s.rank LEFT JOIN ranges r ON r.pid = s.pid AND r.rank IS s.rank AND r.name = s.in_range),
chosen AS (
  SELECT *, row_number() OVER (PARTITION BY rank, pid ORDER BY gain_ns DESC) AS place FROM cost
  WHERE gain_ns > 0.005 * span_ns OR (total_ns > 0.1 * range_ns AND gain_ns > 0.005 * range_ns))
SELECT t.rank AS rank, t.pid AS pid,
       printf('waits for the device%s held the host for %.6f ms, most of it ''%s'', %d times, %.6f ms; they left the device idle for %.6f ms, and for %.6f ms more while the host made the next work ready%s',
              coalesce(' in ''' || coalesce(t.op, t.in_range) || '''', ''), t.total_ns / 1e6, coalesce(c.api, 'a wait'), c.waits, c.total_ns / 1e6, t.gpu_idle_ns / 1e6, t.exposed_host_ns / 1e6,
              iif(t.refill_ns > 0, printf(', and for %.6f ms in later gaps until its launches were ahead again', t.refill_ns / 1e6), '')) AS finding,
       t.gain_ns AS gain_ns,
       printf('of each wait the idle time that it caused, that followed it until the next work, and of later gaps until the host had caught up, at most the wait itself: %.6f ms', t.gain_ns / 1e6) AS arithmetic,
       w.start_ns AS start_ns, w.start_ns + w.total_ns AS end_ns,
       (SELECT 'api_call ' || a.id FROM analysis_processes p CROSS JOIN main.api_call a ON a.process_id = p.id WHERE p.pid = t.pid AND p.rank IS t.rank AND a.start_ns = w.start_ns LIMIT 1) AS evidence,
       t.in_range AS range,
       CASE
         WHEN (SELECT m.copy_kind = 1 AND m.source_kind = 1 FROM analysis_processes p CROSS JOIN main.api_call a JOIN main.memory_copy m ON m.process_id = a.process_id AND m.correlation = a.correlation
               WHERE p.pid = t.pid AND p.rank IS t.rank AND a.process_id = p.id AND a.start_ns <= w.start_ns AND a.start_ns + a.duration_ns > w.start_ns - 50000 ORDER BY a.start_ns DESC LIMIT 1) THEN
           'Values are copied from pageable memory to the device here, and the host waits until that is done, behind all that is queued: make them on the device, keep them there from before the loop, or copy from pinned memory without waiting (PyTorch: x.pin_memory().to(device, non_blocking=True); torch.full or arange with device= in place of torch.tensor(x).to(device)).'
         WHEN c.api GLOB '*DeviceSynchronize*' OR c.api GLOB 'cuCtxSynchronize*' THEN
           'Leave out the waits for the whole device: work on a stream runs in order without them, and one stream waits for another with cudaStreamWaitEvent. Where the host needs a result, wait once, as late as possible, for the stream or event that makes it. Keep waits for timing and for finding errors out of the step.' END AS remedy,
       NULL AS cannot_say
FROM chosen t JOIN call c ON c.pid = t.pid AND c.rank IS t.rank AND c.tid IS t.tid AND c.in_range IS t.in_range AND c.op IS t.op AND c.place = 1
     LEFT JOIN wait w ON w.pid = t.pid AND w.rank IS t.rank AND w.tid IS t.tid AND w.in_range IS t.in_range AND w.op IS t.op AND w.api IS c.api AND w.place = 1
WHERE t.place <= 3
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'neither API calls nor synchronizations were recorded'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call) AND NOT EXISTS (SELECT 1 FROM main.synchronization)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded' WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown);
