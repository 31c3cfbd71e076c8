-- SPDX-License-Identifier: Apache-2.0
-- The device waits for launches
-- More than 0.5 % of the device's span is idle because the host launched the next work too late (report idle: launch_bound, and unknown where nothing is recorded of the launching thread); what a wait for the device before it explains is not counted here
-- needs: device work
-- remedy: Capture the step in a CUDA graph (torch.compile(mode="reduce-overhead")), fuse small kernels (torch.compile), use
--   a larger batch, keep the launching thread free of Python work and of making data that the device could make.
-- remedy without torch: Capture the step in a CUDA graph, fuse small kernels, use a larger batch, keep the launching
--   thread free of other work and of making data that the device could make.
-- remedy outside the steps: See what the host does there (ranges, Python stacks, `plumb report os_calls FILE`): reading
--   files, making weights, compiling; cache it, do it on the device, or in several threads.
WITH waited AS (
  SELECT rank, pid, sum(max(avoidable_ns - gpu_idle_ns, 0)) AS ns FROM report_synchronizations(:rank, :step, :range, :from_ns, :to_ns, 'instance') GROUP BY rank, pid),
late AS (
  SELECT rank, pid, device, sum(idle_ns) AS idle_ns, max(gaps) AS gaps, sum(iif(cause = 'unknown', idle_ns, 0)) AS unrecorded_ns
  FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'cause')
  WHERE cause = 'launch_bound' OR (cause = 'unknown' AND evidence LIKE 'nothing is recorded of the launching thread%') GROUP BY rank, pid, device),
cost AS (
  SELECT l.*, min(l.idle_ns, coalesce(w.ns, 0)) AS waited_ns, l.idle_ns - min(l.idle_ns, coalesce(w.ns, 0)) AS gain_ns
  FROM late l LEFT JOIN waited w ON w.pid = l.pid AND w.rank IS l.rank),
place AS (
  SELECT rank, pid, device, host_range, idle_ns, row_number() OVER (PARTITION BY rank, pid, device ORDER BY idle_ns DESC) AS place
  FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'range') WHERE cause = 'launch_bound' AND host_range <> ''),
gap AS (
  SELECT rank, pid, device, start_ns, start_ns + idle_ns AS end_ns, launch_bound_ns + unknown_ns AS late_ns, host_call, after_table || ' ' || after_id AS evidence,
         row_number() OVER (PARTITION BY rank, pid, device ORDER BY launch_bound_ns + unknown_ns DESC) AS place
  FROM analysis_idle_gaps(:rank, :step, :range, :from_ns, :to_ns) WHERE cause = 'launch_bound' OR evidence LIKE 'nothing is recorded of the launching thread%')
SELECT l.rank AS rank, l.pid AS pid,
       printf('device %d was idle for %.6f ms (%.1f %% of its span) in up to %d gap%s because its next work had not been launched yet%s%s%s', l.device,
              l.idle_ns / 1e6, 100.0 * l.idle_ns / b.span_ns, l.gaps, iif(l.gaps = 1, '', 's'),
              iif(p.host_range IS NULL, '', printf(', in %.6f ms of that while the host was in ''%s''', p.idle_ns / 1e6, p.host_range)),
              iif(l.waited_ns > 0, printf('; waits for the device explain up to %.6f ms of it, which leaves %.6f ms', l.waited_ns / 1e6, l.gain_ns / 1e6), ''),
              iif(l.unrecorded_ns > 0, printf('; %.6f ms of it are launch bound, and what the host did in %.6f ms was not recorded (unknown)%s', (l.idle_ns - l.unrecorded_ns) / 1e6, l.unrecorded_ns / 1e6,
                                          iif(l.unrecorded_ns > 0.1 * l.idle_ns, ': ranges or Python stacks would say it', '')), '')) AS finding,
       l.gain_ns AS gain_ns,
       iif(l.waited_ns > 0, printf('%.6f ms of gaps - the %.6f ms that waits for the device explain', l.idle_ns / 1e6, l.waited_ns / 1e6), printf('these gaps: %.6f ms', l.idle_ns / 1e6)) AS arithmetic,
       g.start_ns AS start_ns, g.end_ns AS end_ns, g.evidence AS evidence, p.host_range AS range,
       -- What happens once no graph, fusion or batch makes shorter.
       iif(g.late_ns > 1000000 AND 2 * g.late_ns > l.idle_ns,
           printf('Most of it is one gap of %s, %s: ', iif(g.late_ns < 1000000000, printf('%.2f ms', g.late_ns / 1e6), printf('%.3f s', g.late_ns / 1e9)), iif(g.host_call IS NULL, 'which has causes of its own', printf('in which the host called ''%s'' longest', g.host_call))) ||
             iif(g.host_call GLOB '*GraphInstantiate*' OR g.host_call GLOB '*Capture*', 'making a CUDA graph, which a run does once; record a later part of it to see how it runs.',
                 'see what the host did there (`plumb report idle FILE --by gap`; ranges, Python stacks, `plumb report os_calls FILE`): loading libraries, first calls of a library, allocating, reading files, compiling; do it before, or once.'), NULL) AS remedy,
       NULL AS cannot_say
FROM cost l JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = l.pid AND b.rank IS l.rank AND b.device = l.device
     LEFT JOIN place p ON p.pid = l.pid AND p.rank IS l.rank AND p.device = l.device AND p.place = 1 AND p.idle_ns > 0.05 * l.idle_ns
     LEFT JOIN gap g ON g.pid = l.pid AND g.rank IS l.rank AND g.device = l.device AND g.place = 1
WHERE l.gain_ns > 0.005 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no API calls were recorded, so it is not known when work was launched'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded' WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown);
