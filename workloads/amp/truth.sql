-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of workloads/amp: rows (check_name, passed, detail). Parameters: :steps; :sixteen_bit (1
-- for fp16 and bf16); :scaled (1 when the loss is scaled); :skipped, the steps that the program says it skipped.
-- compute_type of the products is told by :unit: 0 fp32, 1 tf32, 2 fp16, 3 bf16.
WITH
  unit AS (SELECT CASE :unit WHEN 0 THEN 'fp32' WHEN 1 THEN 'tf32' WHEN 2 THEN 'fp16' ELSE 'bf16' END AS name),
  step AS (SELECT process_id, step, start_ns, start_ns + duration_ns AS end_ns FROM steps),
  product AS (
    SELECT a.text AS a, b.text AS b, c.text AS c, u.text AS compute
    FROM library_call l JOIN step s ON s.process_id = l.process_id AND l.start_ns >= s.start_ns AND l.start_ns < s.end_ns
         JOIN string a ON a.id = l.datatype_a_id JOIN string b ON b.id = l.datatype_b_id
         JOIN string c ON c.id = l.datatype_c_id JOIN string u ON u.id = l.compute_type_id),
  inside AS (
    SELECT r.name, r.start_ns, s.step
    FROM ranges r JOIN step s ON s.process_id = r.process_id AND r.start_ns >= s.start_ns AND r.start_ns < s.end_ns),
  probe AS (  -- the gradients after the training: how many are 0, or inf or nan, at which scale
    SELECT o.name AS how, CAST(op.value AS INTEGER) AS scale,
           max(CASE WHEN i.name = 'gradients that are 0' THEN CAST(ip.value AS INTEGER) END) AS zero,
           max(CASE WHEN i.name = 'gradients that are inf or nan' THEN CAST(ip.value AS INTEGER) END) AS non_finite
    FROM ranges o JOIN range_payload op ON op.range_id = o.id
         JOIN ranges i ON i.process_id = o.process_id AND i.thread_id = o.thread_id AND i.start_ns >= o.start_ns
           AND i.start_ns < o.start_ns + o.duration_ns
         JOIN range_payload ip ON ip.range_id = i.id
    WHERE o.name IN ('gradients in fp32', 'gradients unscaled', 'gradients scaled')
      AND i.name IN ('gradients that are 0', 'gradients that are inf or nan')
    GROUP BY o.id),
  exact AS (SELECT max(zero) AS zero FROM probe WHERE how = 'gradients in fp32'),
  launched AS (
    SELECT k.full_name AS kernel
    FROM kernels k JOIN api_calls a ON a.process_id = k.process_id AND a.correlation = k.correlation
         JOIN step s ON s.process_id = a.process_id AND a.start_ns >= s.start_ns AND a.start_ns < s.end_ns)
SELECT 'every step is there' AS check_name, count(*) = :steps AS passed, count(*) AS detail FROM step
UNION ALL
SELECT 'eleven products a step: four forward, four of weights, three of inputs backward', count(*) = 11 * :steps, count(*) FROM product
UNION ALL
SELECT 'products are computed in the unit of the precision', count(*) = 0, count(*) FROM product, unit WHERE compute <> unit.name
UNION ALL
SELECT 'operands and results of products are 16-bit under autocast, else fp32', count(*) = 0, group_concat(DISTINCT a || b || c)
FROM product, unit WHERE (a, b, c) <> (SELECT n, n, n FROM (SELECT CASE WHEN :sixteen_bit THEN unit.name ELSE 'fp32' END AS n))
UNION ALL
SELECT 'the loss is summed in fp32', count(*) = :steps, count(*) FROM inside WHERE name = 'sum'
UNION ALL
SELECT 'weights are cast once per forward pass, and gradients of the four weights back to fp32, under autocast only',
       count(*) = :sixteen_bit * (1 + 8 + 4) * :steps, count(*) FROM inside WHERE name = 'cast'
UNION ALL
SELECT 'weights, gradients and moments are updated in fp32, all eight of them unless the step is skipped',
       count(*) = 8 * (:steps - :skipped), count(*) FROM launched WHERE kernel LIKE '%adamw(float%'
UNION ALL
SELECT 'skipped steps are ranges', count(*) = :skipped, count(*) FROM inside WHERE name = 'skipped step'
UNION ALL
SELECT 'gradients are unscaled once a step when the loss is scaled', count(*) = :scaled * :steps, count(*) FROM inside WHERE name = 'unscale'
UNION ALL
SELECT 'weights, gradients and optimizer state are fp32: 16 bytes per parameter', count(DISTINCT bytes) = 1 AND count(*) = 4, group_concat(bytes)
FROM (SELECT sum(bytes) AS bytes FROM allocations
      WHERE name GLOB '*layer [0-9]/weight' OR name GLOB '*layer [0-9]/weight.[mv]' GROUP BY category, name GLOB '*.v')
UNION ALL
SELECT 'gradients are looked at unscaled, at two scales, and in fp32; 16-bit products only', count(*) = 4 * :sixteen_bit, count(*) FROM probe
UNION ALL
SELECT 'without scaling fp16 loses gradients, bf16 none', CASE WHEN :unit = 2 THEN coalesce(max(p.zero), 0) > 2 * max(e.zero)
         WHEN :unit = 3 THEN coalesce(max(p.zero), 0) < 1.2 * max(e.zero) ELSE 1 END, max(p.zero) || ' are 0, ' || max(e.zero) || ' in fp32'
FROM probe p, exact e WHERE p.how = 'gradients unscaled'
UNION ALL
SELECT 'at a scale almost none is lost', coalesce(max(p.zero), 0) < 1.5 * max(e.zero) OR NOT :sixteen_bit, max(p.zero) || ' are 0, ' || max(e.zero) || ' in fp32'
FROM probe p, exact e WHERE p.how = 'gradients scaled'
UNION ALL
SELECT 'at 2^40 gradients overflow in fp16 and not in bf16', CASE WHEN :unit = 2 THEN coalesce(max(non_finite), 0) > 0
         WHEN :unit = 3 THEN coalesce(max(non_finite), -1) = 0 ELSE 1 END, max(non_finite)
FROM probe WHERE scale = 1099511627776
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
