-- SPDX-License-Identifier: Apache-2.0
-- Steps
-- How long did each training step take, where did its time go, and how much do steps differ?
-- by: all, step, summary
-- empty: No process declared steps, and no kernels repeat with a period.
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- step: counts from 0 within its process; empty in the summary's rows (--by step leaves these out, --by summary shows them alone)
-- statistic: step, or of the steady steps of a rank: median, p10, p90, of fewer than 10 steps min and max in their place (of each column for itself)
-- source: declared (a range called step, ProfilerStep#N or step N), or period: nothing was declared, and the rows are the repetitions of the kernels on the busiest stream, which may be a layer and not a step
-- warmup: 1: differs from the steady steps, left out of the statistics
-- host_ns (ns): duration of the declared range on the host; empty for a period
-- start_to_start_ns (ns): from start_ns to that of the next step (of the ranges where no step has known GPU work), so with what lies between their spans, as loading data; empty: no next step is known
-- start_ns (ns): first start of the GPU work launched in the step, on whichever device of the process (`report breakdown --by step` has each for itself)
-- span_ns (ns): from there to its last end; empty: no GPU work is known to have been launched in it
-- busy_ns (ns): union of all GPU work in the span, of all devices of the process, as in the columns below
-- compute_ns (ns): union of the kernels that are not communication
-- communication_ns (ns): union of the communication kernels
-- exposed_communication_ns (ns): communication without compute at the same time
-- exposed_memory_ns (ns): copies and sets without compute or communication at the same time
-- idle_ns (ns): span - busy: no device of the process works
-- coverage_pct (%): of the GPU work that starts in the span, what is known to have been launched in the step, by count
-- steps: how many the row is about
WITH found AS MATERIALIZED (SELECT * FROM analysis_steps(:rank, :step, :range, :from_ns, :to_ns)),
wanted(statistic, place, p, least, most) AS (
  VALUES ('median', 1, 50, 1, NULL), ('p10', 2, 10, 10, NULL), ('p90', 3, 90, 10, NULL), ('min', 2, 0, 1, 9), ('max', 3, 100, 1, 9))
SELECT rank, pid, step, statistic, source, warmup, host_ns, start_to_start_ns, start_ns, span_ns, busy_ns, compute_ns, communication_ns,
       exposed_communication_ns, exposed_memory_ns, idle_ns, coverage_pct, steps
FROM (
  SELECT rank, pid, step, 'step' AS statistic, 0 AS place, source, warmup, host_ns, start_to_start_ns, start_ns, span_ns, busy_ns, compute_ns, communication_ns,
         exposed_communication_ns, exposed_memory_ns, idle_ns, coverage_pct, 1 AS steps
  FROM found
  UNION ALL
  SELECT rank, pid, NULL, statistic, place, source, 0, CAST(percentile(host_ns, p) AS INTEGER), CAST(percentile(start_to_start_ns, p) AS INTEGER), NULL, CAST(percentile(span_ns, p) AS INTEGER),
         CAST(percentile(busy_ns, p) AS INTEGER), CAST(percentile(compute_ns, p) AS INTEGER),
         CAST(percentile(communication_ns, p) AS INTEGER), CAST(percentile(exposed_communication_ns, p) AS INTEGER),
         CAST(percentile(exposed_memory_ns, p) AS INTEGER), CAST(percentile(idle_ns, p) AS INTEGER), percentile(coverage_pct, p), count(*)
  FROM found, wanted WHERE warmup = 0 GROUP BY rank, pid, source, statistic
  HAVING count(*) >= least AND count(*) <= coalesce(most, count(*)))
WHERE coalesce(:by, 'all') = 'all' OR (:by = 'step') = (statistic = 'step')
ORDER BY rank IS NULL, rank, pid, place, step;
