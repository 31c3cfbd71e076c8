-- SPDX-License-Identifier: Apache-2.0
-- The device waits for launches
-- More than 10 % of the devices span is idle because the host launched the next work too late
-- remedy: Capture the step in a CUDA graph (torch.compile(mode="reduce-overhead")), fuse small kernels (torch.compile), use
--   a larger batch, keep the launching thread free of Python work.
SELECT i.rank AS rank,
       printf('device %d was idle for %.2f ms (%.1f %% of its span) in %d gaps because its next work had not been launched yet', i.device,
              i.idle_ns / 1e6, 100.0 * i.idle_ns / b.span_ns, i.gaps) AS finding,
       i.idle_ns AS gain_ns, printf('these gaps closed: %.2f ms', i.idle_ns / 1e6) AS arithmetic, NULL AS start_ns, NULL AS end_ns, NULL AS evidence,
       NULL AS cannot_say
FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'cause') i
     JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = i.pid AND b.device = i.device
WHERE i.cause = 'launch_bound' AND i.idle_ns > 0.1 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no API calls were recorded, so it is not known when work was launched'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call);
