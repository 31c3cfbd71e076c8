-- SPDX-License-Identifier: Apache-2.0
-- Communication that nothing covers
-- Time in which a device only communicates, more than 5 % of its span; waits for late or missing ranks, where they are known, are not counted: see One rank makes the others wait, A rank never came to a collective
-- remedy: Prefetch the next layer's all-gather one or two layers ahead (FSDP2: set_modules_to_forward_prefetch,
--   set_modules_to_backward_prefetch), put communication on its own stream, use larger buckets, or give each rank more work.
WITH stuck AS (
  SELECT rank, pid, sum(waited_ns) AS waited_ns FROM analysis_stuck_members(NULL, :step, :range, :from_ns, :to_ns)
  WHERE part = 'waiting' AND waited_ns IS NOT NULL GROUP BY rank, pid),
waited AS (
  SELECT rank, pid, waited_ns, 0 AS missing_ns FROM report_stragglers(NULL, :step, :range, :from_ns, :to_ns)
  UNION ALL SELECT rank, pid, waited_ns, waited_ns FROM stuck),
part AS (
  SELECT b.rank AS rank, b.pid AS pid, b.device AS device, b.span_ns AS span_ns, b.communication_ns AS communication_ns,
         b.exposed_communication_ns AS exposed_ns, coalesce(s.waited_ns, 0) AS waited_ns, coalesce(s.missing_ns, 0) AS missing_ns,
         max(min(b.exposed_communication_ns, b.communication_ns - coalesce(s.waited_ns, 0)), 0) AS gain_ns
  FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b
       LEFT JOIN (SELECT rank, pid, sum(waited_ns) AS waited_ns, sum(missing_ns) AS missing_ns FROM waited GROUP BY rank, pid) s
            ON s.pid = b.pid AND s.rank IS b.rank)
SELECT rank,
       printf('device %d communicates %.1f %% of its span (%.2f ms of %.2f ms) while nothing computes%s%s', device, 100.0 * exposed_ns / span_ns, exposed_ns / 1e6,
              span_ns / 1e6, iif(waited_ns > missing_ns, printf('; waits for late ranks are %.2f ms of all its communication', (waited_ns - missing_ns) / 1e6), ''),
              iif(missing_ns > 0, printf('; waits for a rank that never came are %.2f ms of it', missing_ns / 1e6), '')) AS finding,
       gain_ns,
       iif(gain_ns < exposed_ns, printf('all communication (%.2f ms) without the waits for late ranks (%.2f ms) hidden behind compute', communication_ns / 1e6, waited_ns / 1e6),
           printf('all of the exposed communication hidden behind compute: %.2f ms', exposed_ns / 1e6)) AS arithmetic,
       (SELECT 'kernel ' || k.id FROM gpu_window(:rank, :step, :range, :from_ns, :to_ns) w JOIN main.process p ON p.id = w.process_id
               JOIN main.kernel k ON k.process_id = w.process_id AND k.start_ns >= w.start_ns AND k.start_ns < w.end_ns
        WHERE p.pid = part.pid AND p.rank IS part.rank AND k.short_name_id IN (SELECT id FROM main.string WHERE text LIKE '%nccl%' OR text LIKE '%rccl%')
        ORDER BY k.duration_ns DESC LIMIT 1) AS evidence,
       NULL AS cannot_say
FROM part WHERE span_ns > 0 AND gain_ns > 0.05 * (span_ns - missing_ns)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded' WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown);
