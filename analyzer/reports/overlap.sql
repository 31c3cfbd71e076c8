-- SPDX-License-Identifier: Apache-2.0
-- Overlap of communication and compute
-- How much of each rank's communication was hidden behind compute?
-- by: device, step
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal
-- step: by step: counts from 0 within its process
-- communication_ns (ns): union of the communication kernels
-- overlap_ns (ns): of it, with compute at the same time
-- exposed_ns (ns): of it, without
-- overlap_pct (%): of the communication; empty without communication
-- exposed_pct (%): of the span from the device's first work to its last; by step, of the step's on all devices of the process
-- compute_ns (ns): union of the kernels that are not communication
-- communication_by: records (of collectives) or names (of kernels); empty by step
-- note: why a value is empty
WITH found AS (
  SELECT rank, pid, device, NULL AS step, communication_ns, overlap_ns, exposed_communication_ns, compute_ns, span_ns, communication_by
  FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'device') = 'device'
  UNION ALL
  SELECT rank, pid, device, step, communication_ns, overlap_ns, exposed_communication_ns, compute_ns, span_ns, NULL
  FROM analysis_step_devices(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'step')
SELECT rank, pid, device, step, communication_ns, overlap_ns, exposed_communication_ns AS exposed_ns,
       100.0 * overlap_ns / nullif(communication_ns, 0) AS overlap_pct, 100.0 * exposed_communication_ns / nullif(span_ns, 0) AS exposed_pct,
       compute_ns, communication_by, CASE WHEN communication_ns = 0 THEN 'no communication' ELSE '' END AS note
FROM found;
