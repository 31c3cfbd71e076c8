-- SPDX-License-Identifier: Apache-2.0
-- Health of the recording
-- Can this trace be believed: what was lost, what is doubtful, what is missing?
-- by: finding, step
-- severity: error (data is missing), warning (data is doubtful), cannot say, info, ok
-- rank: rank of the process; empty for the file as a whole
-- pid: process id; empty for the file as a whole
-- step: by step: counts from 0 within its process
-- check_name: file_complete, process_ended, missing_ranks, recordings_begin, clocks, diagnostic, plugin_off, profiler_overhead, launched_work, work_before_launch, launches_with_work, untimed_events; by step the share of launched work and of launches with work
-- subject: lane and code of a diagnostic, name of a plugin
-- value: number that the check is about
-- unit: of the value
-- message: what it means
WITH per_step AS (
  SELECT * FROM analysis_coverage(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'step')
SELECT severity, rank, pid, NULL AS step, check_name, subject, value, unit, message
FROM analysis_health(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'finding') = 'finding'
UNION ALL
SELECT CASE WHEN without_launch = 0 THEN 'ok' WHEN without_launch * 100 < gpu_events THEN 'info' ELSE 'warning' END, rank, pid, step,
       'launched_work', '', 100.0 * (gpu_events - without_launch) / gpu_events, '%',
       without_launch || ' of ' || gpu_events || ' GPU events of the step have no launch call in the trace.'
FROM per_step WHERE gpu_events > 0
UNION ALL
SELECT CASE WHEN without_work = 0 THEN 'ok' WHEN without_work * 100 < launches THEN 'info' ELSE 'warning' END, rank, pid, step,
       'launches_with_work', '', 100.0 * (launches - without_work) / launches, '%',
       without_work || ' of ' || launches || ' launch calls of the step have no GPU event in the trace.'
FROM per_step WHERE launches > 0;
