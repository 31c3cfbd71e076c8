-- SPDX-License-Identifier: Apache-2.0
-- Hidden synchronization in the step
-- Waits of the host inside every step (reading the loss, .item(), .cpu(), nonzero, a blocking copy) that let the device run dry
-- remedy: Read values every N steps only, keep them on the device (loss.detach()), copy with non_blocking=True and read
--   later, use torch.where in place of boolean indexing.
SELECT i.rank AS rank,
       printf('device %d was idle for %.2f ms (%.1f %% of its span) in %d gaps while the launching thread waited for it%s', i.device, i.idle_ns / 1e6,
              100.0 * i.idle_ns / b.span_ns, i.gaps,
              coalesce((SELECT '; most in ' || y.api || coalesce(' inside ' || y.in_range, '') FROM report_synchronizations(NULL, :step, :range, :from_ns, :to_ns, 'site') y
                        WHERE y.pid = i.pid ORDER BY y.gpu_idle_ns DESC LIMIT 1), '')) AS finding,
       i.idle_ns AS gain_ns, printf('these gaps closed: %.2f ms', i.idle_ns / 1e6) AS arithmetic, NULL AS start_ns, NULL AS end_ns, NULL AS evidence,
       NULL AS cannot_say
FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'cause') i
     JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = i.pid AND b.device = i.device
WHERE i.cause = 'host_synchronization' AND i.idle_ns > 0.03 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'neither API calls nor synchronizations were recorded'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call) AND NOT EXISTS (SELECT 1 FROM main.synchronization);
