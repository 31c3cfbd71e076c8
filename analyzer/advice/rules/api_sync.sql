-- SPDX-License-Identifier: Apache-2.0
-- Calls that wait for the device
-- cudaDeviceSynchronize, cudaStreamSynchronize, cudaEventSynchronize … after which the device was idle for more than 1 % of its span
-- remedy: Remove the call, or wait for the one event that is needed, as late as possible; let the device queue
--   work ahead meanwhile.
WITH device AS (
  SELECT rank, pid, sum(span_ns) AS span_ns, sum(idle_ns) AS idle_ns FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) GROUP BY rank, pid)
SELECT c.rank AS rank,
       printf('%s was called %d times and waited %.2f ms; afterwards the device was idle for %.2f ms until new work came', c.api, sum(c.waits),
              sum(c.total_ns) / 1e6, min(sum(c.gpu_idle_ns), d.idle_ns) / 1e6) AS finding,
       min(sum(c.gpu_idle_ns), d.idle_ns) AS gain_ns,
       printf('the device''s idle time that followed the waits: %.2f ms', min(sum(c.gpu_idle_ns), d.idle_ns) / 1e6) AS arithmetic,
       NULL AS start_ns, NULL AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM report_synchronizations(:rank, :step, :range, :from_ns, :to_ns, 'call') c JOIN device d ON d.pid = c.pid AND d.rank IS c.rank
WHERE c.waits_for <> 'copy' GROUP BY c.rank, c.pid, c.api HAVING sum(c.gpu_idle_ns) > 0.01 * d.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'neither API calls nor synchronizations were recorded'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call) AND NOT EXISTS (SELECT 1 FROM main.synchronization);
