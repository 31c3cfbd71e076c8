-- SPDX-License-Identifier: Apache-2.0
-- Matrix products in fp32
-- fp32 matrix products that take more than 10 % of the time of all matrix products on a device with tensor cores
-- remedy: Autocast to bf16 or fp16, or at least torch.set_float32_matmul_precision("high") for tf32.
SELECT rank,
       printf('%d matrix products in fp32 take %.2f ms, %.1f %% of the matrix time', sum(count), sum(gpu_ns) / 1e6, sum(gpu_pct)) AS finding,
       CAST(sum(gpu_ns) * 0.5 AS INTEGER) AS gain_ns, printf('half of %.2f ms: 16-bit formats have at least twice the fp32 rate and half the bytes', sum(gpu_ns) / 1e6) AS arithmetic,
       NULL AS start_ns, NULL AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM report_precision(:rank, :step, :range, :from_ns, :to_ns, 'summary') WHERE what = 'matrix product' AND dtype = 'fp32'
GROUP BY rank, pid HAVING sum(gpu_pct) > 10
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'the data types of matrix products were not recorded'
WHERE NOT EXISTS (SELECT 1 FROM report_precision WHERE what = 'matrix product' AND dtype IS NOT NULL);
