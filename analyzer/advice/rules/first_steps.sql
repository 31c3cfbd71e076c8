-- SPDX-License-Identifier: Apache-2.0
-- First steps counted as steady state
-- Warm-up steps (contexts, library loading, autotuning, allocator growth) of the whole run that a mean over all steps would include, and that raise it by more than 5 %
-- threshold: 5 % of the mean
-- remedy: Leave them out of every mean: the medians here do. Shorten them with saved autotuning
--   results and a compile cache, and, before CUDA 12, where it is not the default yet, with CUDA_MODULE_LOADING=LAZY.
WITH steps AS (
  SELECT rank, pid, max(source = 'period') AS are_repetitions, sum(warmup) AS warm, count(*) AS steps, sum(coalesce(span_ns, host_ns)) AS all_ns, median(CASE WHEN warmup = 0 THEN coalesce(span_ns, host_ns) END) AS median_ns,
         sum(CASE WHEN warmup = 1 THEN coalesce(span_ns, host_ns) END) AS warm_ns, min(CASE WHEN warmup = 1 THEN start_ns END) AS start_ns,
         max(CASE WHEN warmup = 1 THEN start_ns + span_ns END) AS end_ns
  FROM analysis_steps(:rank, :step, :range) GROUP BY rank, pid),
mean AS (
  SELECT *, 1.0 * all_ns / steps AS mean_ns, 1.0 * (all_ns - warm_ns) / nullif(steps - warm, 0) AS steady_ns FROM steps)
SELECT s.rank AS rank, s.pid AS pid,
       printf('%d of %d %s are warm-up%s; with them the mean over all is %.1f %% above that over the steady ones (%.6f ms; their median is %.6f ms)', s.warm, s.steps, iif(s.are_repetitions, 'repetitions of the kernels', 'steps'),
         iif(s.are_repetitions, ' (no steps are marked: each may be a layer, not a step)', ''), 100.0 * (s.mean_ns / s.steady_ns - 1), s.steady_ns / 1e6, s.median_ns / 1e6) AS finding,
       NULL AS gain_ns, printf('once per run: the warm-up %s take %.6f ms more than as many steady ones', iif(s.are_repetitions, 'repetitions', 'steps'), (s.warm_ns - s.warm * s.steady_ns) / 1e6) AS arithmetic,
       s.start_ns AS start_ns, s.end_ns AS end_ns,
       (SELECT 'kernel ' || k.id FROM analysis_processes p CROSS JOIN main.kernel k ON k.process_id = p.id
        WHERE p.pid = s.pid AND p.rank IS s.rank AND k.start_ns >= s.start_ns AND k.start_ns < s.end_ns ORDER BY k.start_ns LIMIT 1) AS evidence, NULL AS cannot_say
FROM mean s WHERE s.warm > 0 AND s.mean_ns > 1.05 * s.steady_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no steps were found' WHERE NOT EXISTS (SELECT 1 FROM analysis_steps);
