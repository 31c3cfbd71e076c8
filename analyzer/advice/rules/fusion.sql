-- SPDX-License-Identifier: Apache-2.0
-- Memory-bound kernels that fusion would help
-- Chains of kernels of operators that only move and transform memory (elementwise, reductions, copies; of declared work those that attain 60 % of the memory roof), one after another on a stream, of which each reads once to four times as much as the one before it wrote (of declared work, which does not tell what it reads, pairs), judged by sizes and order, because recordings do not tell which tensor a kernel reads; what passes between them through memory takes more than 0.5 % of a device's span
-- needs: device work
-- remedy: Fuse pointwise chains and normalizations (torch.compile, Triton, apex), so that intermediate results stay in
--   registers.
-- remedy without torch: Fuse elementwise chains and normalizations into one kernel or into the product before them, so that
--   intermediate results stay in registers.
WITH chain AS (
  SELECT *, row_number() OVER (PARTITION BY rank, pid, device ORDER BY saved_ns DESC) AS place
  FROM analysis_fusion_chains(:rank, :step, :range, :from_ns, :to_ns)),
total AS (
  SELECT rank, pid, device, sum(chains) AS chains, sum(kernels) AS kernels, sum(total_ns) AS total_ns, sum(bytes) AS bytes, sum(between_bytes) AS between_bytes,
         sum(saved_ns) AS saved_ns, group_concat(CASE WHEN place <= 3 THEN printf('%s (%d times)', iif(length(operations) > 120, substr(operations, 1, 117) || '...', operations), chains) END, '; ') AS most
  FROM chain GROUP BY rank, pid, device)
SELECT t.rank AS rank, t.pid AS pid,
       printf('%d chains of %d kernels that only move and transform memory take %.6f ms; most would save: %s', t.chains, t.kernels, t.total_ns / 1e6, t.most) AS finding,
       t.saved_ns AS gain_ns,
       printf('%.2f of their %.2f GiB are written by one kernel and read by the next, judged by sizes and the order on the stream (the recording does not tell which tensor is which): that share of each chain''s time, %.6f ms, if each reads what the one before it wrote', t.between_bytes / 1073741824.0,
              t.bytes / 1073741824.0, t.saved_ns / 1e6) AS arithmetic,
       c.start_ns AS start_ns, c.end_ns AS end_ns, 'kernel ' || c.first_kernel_id || ', kernel ' || c.last_kernel_id AS evidence, NULL AS cannot_say
FROM total t JOIN chain c ON c.pid = t.pid AND c.rank IS t.rank AND c.device = t.device AND c.place = 1
     JOIN analysis_breakdown(:rank, :step, :range, :from_ns, :to_ns) b ON b.pid = t.pid AND b.rank IS t.rank AND b.device = t.device
WHERE t.saved_ns > 0.005 * b.span_ns
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
