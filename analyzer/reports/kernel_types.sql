-- SPDX-License-Identifier: Apache-2.0
-- Kernel types
-- How long did each device do compute, communication, memory work, and any of them at once?
-- by: device, run
-- rank: rank of the process; empty by run, or when the program set none
-- pid: process id; empty by run
-- device: CUDA ordinal; by run empty: sums over all devices
-- type: compute (kernels), communication, memory (copies and sets), what ran at the same time, or idle
-- time_ns (ns): time with exactly this and nothing else; all types but idle add up to the busy time, with idle to the span
-- busy_pct (%): of the busy time; empty for idle
-- span_pct (%): of the span, from the device's first work to its last
-- communication_by: records (of collectives) or names (of kernels)
WITH found AS (SELECT * FROM analysis_kernel_types(:rank, :step, :range, :from_ns, :to_ns)),
whole AS (
  SELECT NULL AS rank, NULL AS pid, NULL AS device, type, sum(time_ns) AS time_ns, sum(busy_ns) AS busy_ns, sum(span_ns) AS span_ns,
         group_concat(DISTINCT communication_by) AS communication_by
  FROM found WHERE :by = 'run' GROUP BY type)
SELECT rank, pid, device, type, time_ns, CASE WHEN type <> 'idle' THEN 100.0 * time_ns / nullif(busy_ns, 0) END AS busy_pct,
       100.0 * time_ns / nullif(span_ns, 0) AS span_pct, communication_by
FROM (SELECT rank, pid, device, type, time_ns, busy_ns, span_ns, communication_by FROM found WHERE coalesce(:by, 'device') = 'device'
      UNION ALL
      SELECT rank, pid, device, type, time_ns, busy_ns, span_ns, communication_by FROM whole);
