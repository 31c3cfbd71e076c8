-- SPDX-License-Identifier: Apache-2.0
-- One rank makes the others wait
-- A rank that arrives last in collectives and costs the others more than 5 % of their time
-- remedy: Look at the phase that makes it late: compute (its share of the work, a slower GPU), data_loading (its loader),
--   launch (its host). `plumb report stragglers FILE`.
SELECT rank,
       printf('rank %s arrived last in %d of %d collectives and caused %.2f ms of waiting in the others; late in: %s', coalesce(rank, '-'),
              arrived_last, instances, caused_wait_ns / 1e6, coalesce(phase, 'unknown')) AS finding,
       caused_wait_ns / max(1, (SELECT count(*) FROM processes WHERE rank IS NOT NULL) - 1) AS gain_ns,
       printf('%.2f ms of waiting / %d other ranks', caused_wait_ns / 1e6, max(1, (SELECT count(*) FROM processes WHERE rank IS NOT NULL) - 1)) AS arithmetic,
       NULL AS start_ns, NULL AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM report_stragglers(:rank, :step, :range, :from_ns, :to_ns) s
WHERE caused_wait_ns > 0.05 * (SELECT max(span_ns) FROM analysis_breakdown(NULL, :step, :range, :from_ns, :to_ns))
                            * max(1, (SELECT count(*) FROM processes WHERE rank IS NOT NULL) - 1)
  AND arrived_last > 0.5 * instances
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no collective has the kernels of all its ranks in the file'
WHERE NOT EXISTS (SELECT 1 FROM report_stragglers WHERE instances > 0);
