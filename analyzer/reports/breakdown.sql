-- SPDX-License-Identifier: Apache-2.0
-- Breakdown
-- Where did each device's time go, from its first work to its last, or in each step?
-- by: rank, step
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal
-- step: with --by step; counts from 0 within its process
-- span_ns (ns): last GPU end - first GPU start = compute + exposed communication + exposed memory + idle; of a step on all devices of the process, one that joins late is idle until then
-- busy_ns (ns): union of all GPU work
-- compute_ns (ns): union of the kernels that are not communication
-- communication_ns (ns): union of the communication kernels
-- overlap_ns (ns): communication and compute at the same time
-- exposed_communication_ns (ns): communication without compute
-- memory_ns (ns): union of copies and sets
-- exposed_memory_ns (ns): copies and sets without compute or communication
-- idle_ns (ns): span - busy
-- compute_pct (%): of the span
-- exposed_communication_pct (%): of the span
-- exposed_memory_pct (%): of the span
-- idle_pct (%): of the span
-- communication_by: records (of collectives) or names (of kernels); empty with --by step
-- untimed: events without a usable time, left out; empty with --by step
WITH found AS (
  SELECT rank, pid, device, NULL AS step, span_ns, busy_ns, compute_ns, communication_ns, overlap_ns, exposed_communication_ns, memory_ns,
         exposed_memory_ns, idle_ns, communication_by, untimed
  FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'rank') = 'rank'
  UNION ALL
  SELECT rank, pid, device, step, span_ns, busy_ns, compute_ns, communication_ns, overlap_ns, exposed_communication_ns, memory_ns,
         exposed_memory_ns, idle_ns, NULL, NULL
  FROM analysis_step_devices(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'step')
SELECT rank, pid, device, step, span_ns, busy_ns, compute_ns, communication_ns, overlap_ns, exposed_communication_ns, memory_ns,
       exposed_memory_ns, idle_ns, 100.0 * compute_ns / nullif(span_ns, 0) AS compute_pct,
       100.0 * exposed_communication_ns / nullif(span_ns, 0) AS exposed_communication_pct,
       100.0 * exposed_memory_ns / nullif(span_ns, 0) AS exposed_memory_pct, 100.0 * idle_ns / nullif(span_ns, 0) AS idle_pct,
       communication_by, untimed
FROM found;
