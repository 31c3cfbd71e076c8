-- SPDX-License-Identifier: Apache-2.0
-- Matrix dimensions that the matrix units do not like
-- 16-bit matrix products whose m, n or k is no multiple of 8
-- remedy: Pad the vocabulary, the hidden size or the batch to multiples of 8 (better 64 or 128).
SELECT p.rank AS rank,
       printf('%d matrix products have a dimension that is no multiple of 8, as %d x %d x %d in %s', count(*), max(l.m), l.n, l.k, d.text) AS finding,
       NULL AS gain_ns, 'cannot say, because how much slower they are depends on the kernel that the library chooses' AS arithmetic,
       min(l.start_ns) AS start_ns, max(l.start_ns + l.duration_ns) AS end_ns, 'library_call ' || min(l.id) || ', library_call ' || max(l.id) AS evidence, NULL AS cannot_say
FROM host_window(:rank, :step, :range, :from_ns, :to_ns) w
     JOIN main.library_call l ON l.process_id = w.process_id AND l.start_ns >= w.start_ns AND l.start_ns < w.end_ns
     JOIN main.process p ON p.id = l.process_id JOIN main.string d ON d.id = l.compute_type_id
WHERE d.text IN ('fp16', 'bf16', 'tf32', 'fp8') AND (l.m % 8 <> 0 OR l.n % 8 <> 0 OR l.k % 8 <> 0) AND l.m > 8 AND l.n > 8 AND l.k > 8
GROUP BY l.process_id
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no library calls with shapes were recorded' WHERE NOT EXISTS (SELECT 1 FROM main.library_call);
