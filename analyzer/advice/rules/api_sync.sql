-- SPDX-License-Identifier: Apache-2.0
-- Calls that wait for the device
-- cudaDeviceSynchronize, cudaStreamSynchronize, cudaEventSynchronize … during which the device then runs dry
-- remedy: Remove the call, or wait for the one event that is needed, as late as possible; let the device queue
--   work ahead meanwhile.
SELECT rank,
       printf('%s was called %d times and waited %.2f ms; afterwards the device was idle for %.2f ms until new work came', api, sum(waits),
              sum(total_ns) / 1e6, sum(gpu_idle_ns) / 1e6) AS finding,
       sum(gpu_idle_ns) AS gain_ns, printf('the device''s idle time that followed the waits: %.2f ms', sum(gpu_idle_ns) / 1e6) AS arithmetic,
       NULL AS start_ns, NULL AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM report_synchronizations(:rank, :step, :range, :from_ns, :to_ns, 'call')
WHERE waits_for <> 'copy' GROUP BY rank, pid, api HAVING sum(gpu_idle_ns) > 0
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'neither API calls nor synchronizations were recorded'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call) AND NOT EXISTS (SELECT 1 FROM main.synchronization);
