-- SPDX-License-Identifier: Apache-2.0
-- Matrix dimensions that the matrix units do not like
-- Matrix products on tensor cores with a matrix whose rows (what lies together in memory: of m, n and k those along which the matrices are stored) are no multiple of 16 bytes (8 numbers in 16-bit formats, 4 in tf32, 16 in fp8)
-- needs: device work
-- remedy: Pad the dimension that is named (the vocabulary, the hidden size, the channels) to a multiple of 8 (better 64 or 128).
-- Whether a matrix lies along m, n or k. Of library calls they lie in columns: C along m, A along m or transposed k, B
-- along k or transposed n.
WITH library AS (
  SELECT l.process_id, d.text AS dtype, l.m, l.n, l.k, 1 AS m_lies, l.transpose_b <> 0 AS n_lies, l.transpose_a <> 0 OR l.transpose_b = 0 AS k_lies, l.flops, 'library_call ' || l.id AS evidence, l.start_ns, l.start_ns + l.duration_ns AS end_ns
  FROM host_window(:rank, :step, :range, :from_ns, :to_ns) w
       JOIN main.library_call l ON l.process_id = w.process_id AND l.start_ns >= w.start_ns AND l.start_ns < w.end_ns
       JOIN main.string d ON d.id = l.compute_type_id),
-- Of a process without library calls: torch's operators, whose operands are [m, k] and [k, n]; [b, m, k] and [b, k, n] of bmm;
-- behind the bias of addmm. C lies along n, without strides A along k and B along n.
operand AS (
  SELECT o.process_id, o.id, o.start_ns, o.duration_ns, s.text = 'aten::addmm' AS first, s.text = 'aten::bmm' AS inner_at, d.text AS dims, t.text AS types, iif(json_valid(x.text), x.text, '[]') AS strides
  FROM host_window(:rank, :step, :range, :from_ns, :to_ns) w
       JOIN main.operator o ON o.process_id = w.process_id AND o.start_ns >= w.start_ns AND o.start_ns < w.end_ns
       JOIN main.string s ON s.id = o.name_id AND s.text IN ('aten::mm', 'aten::addmm', 'aten::bmm')
       JOIN main.operator_argument_set a ON a.id = o.argument_set_id
       JOIN main.string d ON d.id = a.dims_id JOIN main.string t ON t.id = a.types_id LEFT JOIN main.string x ON x.id = a.strides_id
  WHERE NOT EXISTS (SELECT 1 FROM main.library_call l WHERE l.process_id = o.process_id) AND json_valid(d.text) AND json_valid(t.text)),
shaped AS (
  SELECT process_id, id, start_ns, start_ns + duration_ns AS end_ns,
         CASE json_extract(types, printf('$[%d]', first)) WHEN 'c10::BFloat16' THEN 'bf16' WHEN 'c10::Half' THEN 'fp16' END AS dtype,
         json_extract(dims, printf('$[%d][%d]', first, inner_at)) AS m, json_extract(dims, printf('$[%d][%d]', first + 1, inner_at + 1)) AS n,
         json_extract(dims, printf('$[%d][%d]', first, inner_at + 1)) AS k,
         json_extract(strides, printf('$[%d][%d]', first, inner_at)) = 1 AND json_extract(strides, printf('$[%d][%d]', first, inner_at + 1)) <> 1 AS a_lies_along_m,
         json_extract(strides, printf('$[%d][%d]', first + 1, inner_at)) = 1 AND json_extract(strides, printf('$[%d][%d]', first + 1, inner_at + 1)) <> 1 AS b_lies_along_k
  FROM operand),
call AS (
  SELECT process_id, dtype, m, n, k, m_lies, n_lies, k_lies, flops, evidence, start_ns, end_ns FROM library
  UNION ALL
  SELECT process_id, dtype, m, n, k, coalesce(a_lies_along_m, 0), 1, NOT coalesce(a_lies_along_m, 0) OR coalesce(b_lies_along_k, 0), 2.0 * m * n * k, 'operator ' || id, start_ns, end_ns FROM shaped
  WHERE typeof(m) = 'integer' AND typeof(n) = 'integer' AND typeof(k) = 'integer'),
multiples AS (
  SELECT *, CASE dtype WHEN 'tf32' THEN 4 WHEN 'fp16' THEN 8 WHEN 'bf16' THEN 8 WHEN 'fp8' THEN 16 END AS multiple FROM call),
named AS (
  SELECT *, ltrim(iif(m_lies AND m % multiple <> 0, ', m = ' || m, '') || iif(n_lies AND n % multiple <> 0, ', n = ' || n, '') || iif(k_lies AND k % multiple <> 0, ', k = ' || k, ''), ', ') AS odd
  FROM multiples WHERE multiple IS NOT NULL AND m > multiple AND n > multiple AND k > multiple),
odd AS (
  SELECT *, row_number() OVER (PARTITION BY process_id, dtype ORDER BY flops DESC) AS place, count(*) OVER (PARTITION BY process_id, dtype) AS count
  FROM named WHERE odd <> '')
SELECT p.rank AS rank, p.pid AS pid,
       printf('%d %s matrix products have matrices with rows whose length is no multiple of %d; the largest, m x n x k = %d x %d x %d: %s', o.count, o.dtype, o.multiple, o.m, o.n, o.k, o.odd) AS finding,
       NULL AS gain_ns, 'cannot say, because how much slower they are depends on the kernel that the library chooses' AS arithmetic,
       o.start_ns AS start_ns, o.end_ns AS end_ns, o.evidence AS evidence, NULL AS cannot_say
FROM odd o JOIN analysis_processes p ON p.id = o.process_id WHERE o.place = 1
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no library calls or operators with shapes were recorded'
WHERE NOT EXISTS (SELECT 1 FROM call);
