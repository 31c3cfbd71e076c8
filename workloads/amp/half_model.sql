-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of `amp --wrong half-model`: rows (check_name, passed, detail). Parameters: :steps; :parameters, how
-- many the model has; :breaks (1 with the default epsilon, which is 0 in fp16).
WITH
  step AS (SELECT process_id, step, start_ns, start_ns + duration_ns AS end_ns FROM steps),
  product AS (
    SELECT a.text || ' ' || b.text || ' ' || c.text AS types, u.text AS compute
    FROM library_call l JOIN step s ON s.process_id = l.process_id AND l.start_ns >= s.start_ns AND l.start_ns < s.end_ns
         JOIN string a ON a.id = l.datatype_a_id JOIN string b ON b.id = l.datatype_b_id
         JOIN string c ON c.id = l.datatype_c_id JOIN string u ON u.id = l.compute_type_id),
  inside AS (
    SELECT r.name FROM ranges r JOIN step s ON s.process_id = r.process_id AND r.start_ns >= s.start_ns AND r.start_ns < s.end_ns),
  launched AS (
    SELECT k.full_name AS kernel
    FROM kernels k JOIN api_calls a ON a.process_id = k.process_id AND a.correlation = k.correlation
         JOIN step s ON s.process_id = a.process_id AND a.start_ns >= s.start_ns AND a.start_ns < s.end_ns),
  kept AS (  -- weights, gradients, m and v of all layers
    SELECT category, sum(bytes) AS bytes FROM allocations
    WHERE name GLOB '*layer [0-9]/weight' OR name GLOB '*layer [0-9]/bias' OR name GLOB '*layer [0-9]/weight.[mv]' OR name GLOB '*layer [0-9]/bias.[mv]'
    GROUP BY category),
  said AS (
    SELECT r.name, max(CAST(p.value AS INTEGER)) AS most
    FROM ranges r JOIN range_payload p ON p.range_id = r.id JOIN string s ON s.id = p.name_id AND s.text = 'payload'
    WHERE r.name IN ('second moments that are 0', 'weights whose update was lost', 'weights that are inf or nan') GROUP BY r.name)
SELECT 'every step is there' AS check_name, count(*) = :steps AS passed, count(*) AS detail FROM step
UNION ALL
SELECT 'weights take 2 bytes a parameter', coalesce(max(bytes), 0) = 2 * :parameters, max(bytes) FROM kept WHERE category = 'parameter'
UNION ALL
SELECT 'so do gradients', coalesce(max(bytes), 0) = 2 * :parameters, max(bytes) FROM kept WHERE category = 'gradient'
UNION ALL
SELECT 'and each of the two moments: 8 bytes a parameter in all, half of 16', coalesce(max(bytes), 0) = 4 * :parameters, max(bytes) FROM kept WHERE category = 'optimizer_state'
UNION ALL
SELECT 'the eleven products of a step take and give fp16', count(*) = 11 * :steps AND min(types = 'fp16 fp16 fp16' AND compute = 'fp16'),
       group_concat(DISTINCT types || ' in ' || compute) FROM product
UNION ALL
SELECT 'no weight is cast: a step has casts of its input and of the four sums of bias gradients only', count(*) = 5 * :steps, count(*)
FROM inside WHERE name = 'cast'
UNION ALL
SELECT 'the optimizer works on fp16', count(*) = 8 * :steps, count(*) FROM launched WHERE kernel LIKE '%adamwInHalf(%'
UNION ALL
SELECT 'and nowhere on fp32', count(*) = 0, count(*) FROM launched WHERE kernel LIKE '%adamw(float%'
UNION ALL
SELECT 'the loss is not scaled', count(*) = 0, count(*) FROM inside WHERE name = 'unscale'
UNION ALL
SELECT 'squares of gradients became 0', coalesce(max(most), 0) > 0, max(most) FROM said WHERE name = 'second moments that are 0'
UNION ALL
SELECT 'weights became inf or nan where epsilon is 0 in fp16, and only there', (coalesce(max(most), -1) > 0) = :breaks, max(most)
FROM said WHERE name = 'weights that are inf or nan'
UNION ALL
SELECT 'updates were lost where the model lives', coalesce(max(most), 0) > 0 OR :breaks, max(most) FROM said WHERE name = 'weights whose update was lost'
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
