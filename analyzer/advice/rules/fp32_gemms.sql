-- SPDX-License-Identifier: Apache-2.0
-- Matrix products in fp32
-- fp32 matrix products (convolutions among them) that take more than 10 % of the time of all matrix products on a device whose units are faster in smaller formats
-- needs: device work
-- threshold: 10 % of the time of all matrix products
-- remedy: Autocast to bf16 or fp16, or at least torch.set_float32_matmul_precision("high") for tf32.
-- remedy without torch: Multiply in bf16 or fp16, or at least in tf32 (cublasSetMathMode, CUBLAS_TF32_TENSOR_OP_MATH).
-- Measured, else of the datasheet that the device's properties or its name tell.
WITH known AS (
  SELECT process_id, resource, per_second, 'measured' AS source FROM main.device_roof WHERE source = 'measured'
  UNION ALL
  SELECT p.id, r.resource, r.per_second, r.source FROM analysis_processes p JOIN analysis_roofs r ON r.pid = p.pid AND r.rank IS p.rank
  WHERE r.source <> 'measured' AND NOT EXISTS (SELECT 1 FROM main.device_roof m WHERE m.process_id = p.id AND m.source = 'measured' AND m.resource IN ('fp32', 'tf32', 'fp16', 'bf16'))),
roof AS (
  SELECT process_id, max(CASE WHEN resource = 'fp32' THEN per_second END) AS fp32, max(CASE WHEN resource IN ('bf16', 'fp16', 'tf32') THEN per_second END) AS small, max(source) AS source
  FROM known GROUP BY process_id),
owner AS (
  SELECT p.pid AS pid, p.rank AS rank, max(d.kind = 'gpu' AND d.compute_major >= 7) AS has_tensor_cores, max(d.kind = 'gpu' AND d.compute_major = 7) AS has_fp16_only, r.fp32 AS fp32, r.small AS small, r.source AS source
  FROM analysis_processes p CROSS JOIN main.device d ON d.process_id = p.id LEFT JOIN roof r ON r.process_id = p.id GROUP BY p.id),
product AS (
  SELECT rank, pid, count, gpu_ns, gpu_pct, start_ns, end_ns, evidence
  FROM (SELECT rank, pid, dtype, sum(count) AS count, sum(gpu_ns) AS gpu_ns, 100.0 * sum(gpu_ns) / nullif(sum(sum(gpu_ns)) OVER (PARTITION BY rank, pid), 0) AS gpu_pct,
               max(longest_end_ns - longest_start_ns), longest_start_ns AS start_ns, longest_end_ns AS end_ns, 'kernel ' || longest_kernel_id AS evidence
        FROM analysis_precision(:rank, :step, :range, :from_ns, :to_ns) WHERE what = 'matrix product' GROUP BY rank, pid, dtype)
  WHERE dtype = 'fp32'),
told AS (
  SELECT rank, pid, sum(gpu_ns) AS gpu_ns, sum(iif(dtype = 'unknown', gpu_ns, NULL)) AS unknown_ns
  FROM analysis_precision(:rank, :step, :range, :from_ns, :to_ns) WHERE what = 'matrix product' GROUP BY rank, pid)
SELECT f.rank AS rank, f.pid AS pid,
       printf('%d matrix products in fp32 take %.6f ms, %.1f %% of the matrix time', f.count, f.gpu_ns / 1e6, f.gpu_pct) AS finding,
       CASE WHEN p.fp32 > 0 AND p.small > 0 THEN CAST(f.gpu_ns * (1 - p.fp32 / p.small) AS INTEGER) END AS gain_ns,
       iif(p.fp32 > 0 AND p.small > 0, printf('%.6f ms x (1 - %.3g / %.3g): the %s FLOP/s in fp32 and in the fastest smaller format; a product that memory bounds gains at most half of its time', f.gpu_ns / 1e6, p.fp32, p.small, p.source),
           printf('cannot say how much of their %.6f ms, because the device''s FLOP/s in fp32 and in smaller formats are not known (`plumb calibrate` measures them): about half where memory bounds the products, more where arithmetic does', f.gpu_ns / 1e6)) AS arithmetic,
       f.start_ns AS start_ns, f.end_ns AS end_ns, f.evidence AS evidence,
       iif(p.has_fp16_only, 'Autocast to fp16 with a loss scale (torch.amp.GradScaler): the matrix units of this device know neither bf16 nor tf32.', NULL) AS remedy,
       NULL AS cannot_say
FROM product f JOIN owner p ON p.pid = f.pid AND p.rank IS f.rank
WHERE f.gpu_pct > 10 AND (p.small > 1.5 * p.fp32 OR (coalesce(p.fp32, p.small) IS NULL AND p.has_tensor_cores))
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'the data types of matrix products were not recorded'
WHERE NOT EXISTS (SELECT 1 FROM report_precision WHERE what = 'matrix product' AND dtype IS NOT NULL)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'of most matrix products neither the arguments nor the kernels'' names tell the data type'
WHERE EXISTS (SELECT 1 FROM told WHERE 2 * unknown_ns >= gpu_ns)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'it is not known how fast the device is in smaller formats (`plumb calibrate` measures it)'
FROM product f JOIN owner p ON p.pid = f.pid AND p.rank IS f.rank
WHERE f.gpu_pct > 10 AND (p.fp32 IS NULL OR p.small IS NULL) AND NOT coalesce(p.has_tensor_cores, 0);
