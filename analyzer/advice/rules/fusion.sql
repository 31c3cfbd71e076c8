-- SPDX-License-Identifier: Apache-2.0
-- Memory-bound kernels that fusion would help
-- Memory-bound kernels whose half takes more than 0.5 % of a device's span
-- needs: device work
-- remedy: Fuse pointwise chains and normalizations (torch.compile, Triton, apex), so that intermediate results stay in
--   registers.
-- remedy without torch: Fuse elementwise chains and normalizations into one kernel or into the product before them, so that
--   intermediate results stay in registers.
WITH slow AS (
  SELECT rank, pid, device, name, operation, calls, total_ns, row_number() OVER (PARTITION BY rank, pid, device ORDER BY total_ns DESC) AS place
  FROM report_roofline(:rank, :step, :range, :from_ns, :to_ns) WHERE verdict = 'memory-bound'),
longest AS (  -- call of the largest of them
  SELECT p.pid AS pid, p.rank AS rank, k.id AS id, k.start_ns AS start_ns, max(k.duration_ns) AS duration_ns
  FROM slow s JOIN main.process p ON p.pid = s.pid AND p.rank IS s.rank JOIN gpu_window(:rank, :step, :range, :from_ns, :to_ns) w ON w.process_id = p.id
       JOIN main.kernel k ON k.process_id = w.process_id AND k.start_ns >= w.start_ns AND k.start_ns < w.end_ns JOIN main.string n ON n.id = k.short_name_id
  WHERE s.place = 1 AND (s.name IS NULL OR n.text = s.name) GROUP BY p.id)
SELECT s.rank AS rank, s.pid AS pid,
       printf('%d calls of memory-bound kernels take %.6f ms; the largest: %s', sum(s.calls), sum(s.total_ns) / 1e6,
              group_concat(CASE WHEN s.place <= 3 THEN coalesce(s.name, s.operation) END, ', ')) AS finding,
       CAST(sum(s.total_ns) / 2 AS INTEGER) AS gain_ns, printf('half of %.6f ms: fused in pairs, each pair reads and writes once', sum(s.total_ns) / 1e6) AS arithmetic,
       k.start_ns AS start_ns, k.start_ns + k.duration_ns AS end_ns, 'kernel ' || k.id AS evidence, NULL AS cannot_say
FROM slow s JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = s.pid AND b.rank IS s.rank AND b.device = s.device
     LEFT JOIN longest k ON k.pid = s.pid AND k.rank IS s.rank
GROUP BY s.rank, s.pid, s.device HAVING sum(s.calls) > 1 AND sum(s.total_ns) / 2 > 0.005 * b.span_ns
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no kernel has known bytes and a memory roof (`plumb calibrate` measures roofs)'
WHERE NOT EXISTS (SELECT 1 FROM report_roofline WHERE memory_roof_pct IS NOT NULL)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       printf('%.0f %% of the kernels'' time is that of kernels whose bytes are not known (roofline says of each why)',
              100.0 * unknown_ns / total_ns)
FROM (SELECT total(total_ns) FILTER (WHERE memory_roof_pct IS NULL) AS unknown_ns, total(total_ns) AS total_ns
      FROM report_roofline(:rank, :step, :range, :from_ns, :to_ns))
WHERE unknown_ns > 0.5 * total_ns AND EXISTS (SELECT 1 FROM report_roofline WHERE memory_roof_pct IS NOT NULL);
