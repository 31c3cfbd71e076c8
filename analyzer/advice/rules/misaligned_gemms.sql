-- SPDX-License-Identifier: Apache-2.0
-- Matrix dimensions that the matrix units do not like
-- Matrix products on tensor cores whose m, n or k is no multiple of 16 bytes (8 in 16-bit formats, 4 in tf32, 16 in fp8)
-- remedy: Pad the vocabulary, the hidden size or the batch to multiples of 8 (better 64 or 128).
WITH call AS (
  SELECT l.*, d.text AS dtype, CASE d.text WHEN 'tf32' THEN 4 WHEN 'fp16' THEN 8 WHEN 'bf16' THEN 8 WHEN 'fp8' THEN 16 END AS multiple
  FROM host_window(:rank, :step, :range, :from_ns, :to_ns) w
       JOIN main.library_call l ON l.process_id = w.process_id AND l.start_ns >= w.start_ns AND l.start_ns < w.end_ns
       JOIN main.string d ON d.id = l.compute_type_id),
odd AS (
  SELECT process_id, dtype, multiple, m, n, k, id, start_ns, row_number() OVER (PARTITION BY process_id, dtype ORDER BY flops DESC) AS place,
         count(*) OVER (PARTITION BY process_id, dtype) AS count, start_ns + duration_ns AS end_ns
  FROM call WHERE multiple IS NOT NULL AND m > multiple AND n > multiple AND k > multiple AND (m % multiple <> 0 OR n % multiple <> 0 OR k % multiple <> 0))
SELECT p.rank AS rank, p.pid AS pid,
       printf('%d %s matrix products have a dimension that is no multiple of %d; the largest: %d x %d x %d', o.count, o.dtype, o.multiple, o.m, o.n, o.k) AS finding,
       NULL AS gain_ns, 'cannot say, because how much slower they are depends on the kernel that the library chooses' AS arithmetic,
       o.start_ns AS start_ns, o.end_ns AS end_ns, 'library_call ' || o.id AS evidence, NULL AS cannot_say
FROM odd o JOIN main.process p ON p.id = o.process_id WHERE o.place = 1
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no library calls with shapes were recorded' WHERE NOT EXISTS (SELECT 1 FROM main.library_call);
