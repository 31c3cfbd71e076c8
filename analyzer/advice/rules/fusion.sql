-- SPDX-License-Identifier: Apache-2.0
-- Memory-bound kernels that fusion would help
-- Memory-bound kernels that take more than 10 % of a device's compute time
-- remedy: Fuse pointwise chains and normalizations (torch.compile, Triton, apex), so that intermediate results stay in
--   registers.
WITH slow AS (
  SELECT rank, pid, device, name, operation, calls, total_ns, row_number() OVER (PARTITION BY rank, pid, device ORDER BY total_ns DESC) AS place
  FROM report_roofline(:rank, :step, :range, :from_ns, :to_ns) WHERE verdict = 'memory-bound')
SELECT s.rank AS rank,
       printf('%d calls of memory-bound kernels take %.2f ms; the largest: %s', sum(s.calls), sum(s.total_ns) / 1e6,
              group_concat(CASE WHEN s.place <= 3 THEN coalesce(s.name, s.operation) END, ', ')) AS finding,
       CAST(sum(s.total_ns) / 2 AS INTEGER) AS gain_ns, printf('half of %.2f ms, if pairs of them read and wrote once', sum(s.total_ns) / 1e6) AS arithmetic,
       NULL AS start_ns, NULL AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM slow s JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = s.pid AND b.rank IS s.rank AND b.device = s.device
GROUP BY s.rank, s.pid, s.device HAVING sum(s.calls) > 1 AND sum(s.total_ns) > 0.1 * b.compute_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no kernel has known bytes and a memory roof (`plumb calibrate` measures roofs)'
WHERE NOT EXISTS (SELECT 1 FROM report_roofline WHERE memory_roof_pct IS NOT NULL);
