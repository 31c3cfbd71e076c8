-- SPDX-License-Identifier: Apache-2.0
-- fp16 without a loss scale
-- Training (a backward pass or gradients are recorded) with fp16 matrix products and without any loss scale: gradients below 6e-8 become 0
-- needs: device work
-- remedy: Scale the loss (torch.amp.GradScaler), or use bf16, which has the range of fp32.
WITH product AS (
  SELECT rank, pid, sum(count) AS count, sum(gpu_ns) AS gpu_ns, max(longest_end_ns - longest_start_ns), longest_kernel_id, longest_start_ns AS start_ns, longest_end_ns AS end_ns
  FROM analysis_precision(:rank, :step, :range, :from_ns, :to_ns)
  WHERE what = 'matrix product' AND dtype = 'fp16' GROUP BY rank, pid),
told AS (
  SELECT sum(gpu_ns) AS gpu_ns, sum(iif(dtype = 'unknown', gpu_ns, NULL)) AS unknown_ns
  FROM analysis_precision(:rank, :step, :range, :from_ns, :to_ns) WHERE what = 'matrix product' GROUP BY rank, pid),
scaled AS (SELECT DISTINCT rank, pid FROM report_precision(:rank) WHERE what IN ('loss scale', 'skipped steps')),
scaler AS ( -- GradScaler's own operators and kernels, where its numbers were not recorded
  SELECT process_id FROM operator WHERE name_id IN (SELECT id FROM main.string WHERE text GLOB 'aten::_amp_*')
  UNION SELECT process_id FROM main.kernel WHERE name_id IN (
    SELECT id FROM main.string WHERE text GLOB '*amp_update_scale*' OR text GLOB '*non_finite_check_and_unscale*')),
trained AS (
  SELECT process_id FROM main.range WHERE name_id IN (SELECT id FROM main.string WHERE text LIKE '%backward%')
  UNION SELECT process_id FROM operator WHERE name_id IN (SELECT id FROM main.string WHERE text LIKE '%backward%')
  UNION SELECT process_id FROM main.memory_region WHERE category = 'gradient')
SELECT f.rank AS rank, f.pid AS pid, printf('%d matrix products in fp16 and a backward pass, but neither a loss scale nor skipped steps', f.count) AS finding,
       NULL AS gain_ns, 'no time: gradients are at stake' AS arithmetic, f.start_ns AS start_ns, f.end_ns AS end_ns,
       'kernel ' || f.longest_kernel_id AS evidence,
       NULL AS cannot_say
FROM product f JOIN analysis_processes p ON p.pid = f.pid AND p.rank IS f.rank
WHERE p.id IN (SELECT process_id FROM trained) AND NOT EXISTS (SELECT 1 FROM scaled s WHERE s.pid = f.pid AND s.rank IS f.rank)
  AND p.id NOT IN (SELECT process_id FROM scaler)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'the data types of matrix products were not recorded'
WHERE NOT EXISTS (SELECT 1 FROM report_precision WHERE what = 'matrix product' AND dtype IS NOT NULL)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'of most matrix products neither the arguments nor the kernels'' names tell the data type'
WHERE EXISTS (SELECT 1 FROM told WHERE 2 * unknown_ns >= gpu_ns) AND NOT EXISTS (SELECT 1 FROM product);
