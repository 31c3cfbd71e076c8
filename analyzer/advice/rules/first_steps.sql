-- SPDX-License-Identifier: Apache-2.0
-- First steps counted as steady state
-- Warm-up steps (contexts, library loading, autotuning, allocator growth) that a mean over all steps would include
-- remedy: Leave them out of every mean: the medians here do. Shorten them with CUDA_MODULE_LOADING=LAZY, saved autotuning
--   results and a compile cache.
SELECT rank,
       printf('%d of %d steps are warm-up; a mean over all steps is %.1f %% above the steady median (%.2f ms)', sum(warmup), count(*),
              100.0 * (avg(coalesce(span_ns, host_ns)) / median(CASE WHEN warmup = 0 THEN coalesce(span_ns, host_ns) END) - 1),
              median(CASE WHEN warmup = 0 THEN coalesce(span_ns, host_ns) END) / 1e6) AS finding,
       NULL AS gain_ns,
       printf('once per run: the warm-up steps take %.2f ms more than as many steady ones',
              (sum(CASE WHEN warmup = 1 THEN coalesce(span_ns, host_ns) END) - sum(warmup) * median(CASE WHEN warmup = 0 THEN coalesce(span_ns, host_ns) END)) / 1e6) AS arithmetic,
       min(CASE WHEN warmup = 1 THEN start_ns END) AS start_ns, max(CASE WHEN warmup = 1 THEN start_ns + span_ns END) AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM analysis_steps(:rank, :step, :range, :from_ns, :to_ns)
GROUP BY rank, pid HAVING sum(warmup) > 0 AND avg(coalesce(span_ns, host_ns)) > 1.05 * median(CASE WHEN warmup = 0 THEN coalesce(span_ns, host_ns) END)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no steps were found' WHERE NOT EXISTS (SELECT 1 FROM analysis_steps);
