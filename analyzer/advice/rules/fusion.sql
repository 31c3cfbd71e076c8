-- SPDX-License-Identifier: Apache-2.0
-- Memory-bound kernels in a chain
-- Memory-bound kernels that take more than 10 % of the kernel time and could be fused
-- remedy: Fuse pointwise chains and normalizations (torch.compile, Triton, apex), so that intermediate results stay in
--   registers.
SELECT rank,
       printf('%d memory-bound kernels take %.2f ms; the largest: %s', sum(calls), sum(total_ns) / 1e6,
              (SELECT group_concat(name, ', ') FROM (SELECT DISTINCT name FROM report_roofline(:rank, :step, :range, :from_ns, :to_ns) WHERE verdict = 'memory-bound' ORDER BY total_ns DESC LIMIT 3))) AS finding,
       CAST(sum(total_ns) * 0.5 AS INTEGER) AS gain_ns, printf('half of %.2f ms, if pairs of them read and wrote once', sum(total_ns) / 1e6) AS arithmetic,
       NULL AS start_ns, NULL AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM report_roofline(:rank, :step, :range, :from_ns, :to_ns) WHERE verdict = 'memory-bound'
GROUP BY rank, pid, device HAVING sum(calls) > 1 AND sum(total_ns) > 0.1 * (SELECT sum(compute_ns) FROM analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns))
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no kernel has known bytes and a memory roof (`plumb calibrate` measures roofs)'
WHERE NOT EXISTS (SELECT 1 FROM report_roofline WHERE memory_roof_pct IS NOT NULL);
