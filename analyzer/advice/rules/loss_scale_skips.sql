-- SPDX-License-Identifier: Apache-2.0
-- Steps lost to the loss scale
-- More than 5 % of the steps were skipped because gradients overflowed
-- remedy: Start with a smaller scale (GradScaler(init_scale=2**12)), let it grow less often (growth_interval), or use bf16,
--   which needs no scaling.
SELECT rank, printf('%d of %d steps were skipped by the loss scaler', skipped, steps) AS finding,
       CAST(skipped * coalesce((SELECT median(host_ns) FROM analysis_steps), 0) AS INTEGER) AS gain_ns,
       printf('%d steps x %.2f ms (median step)', skipped, coalesce((SELECT median(host_ns) FROM analysis_steps), 0) / 1e6) AS arithmetic,
       NULL AS start_ns, NULL AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM (SELECT r.rank AS rank, max(r.count) AS skipped, (SELECT count(*) FROM steps s WHERE s.rank IS r.rank) AS steps
      FROM report_precision(:rank, :step, :range, :from_ns, :to_ns, 'summary') r WHERE what = 'skipped steps' GROUP BY r.rank)
WHERE skipped > 0.05 * steps AND steps > 0;
