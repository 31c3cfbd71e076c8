-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of the lesson "memory": rows (check_name, passed, detail).
-- Parameters: :parameters, and :largest, the elements of the largest one.
WITH
  optimizer(name, state_bytes, temporary_bytes) AS (VALUES
    ('SGD', 0, 0), ('momentum', 4, 0), ('AdamW, foreach', 8, 4 * :parameters), ('AdamW, one by one', 8, 4 * :largest),
    ('AdamW, fused', 8, 0)),
  training AS (
    SELECT o.*, r.process_id, r.start_ns, r.start_ns + r.duration_ns AS end_ns
    FROM optimizer o JOIN ranges r ON r.name = o.name),
  moment AS (
    SELECT t.name AS training, t.process_id, t.state_bytes, r.name, r.start_ns + r.duration_ns AS at_ns
    FROM training t JOIN ranges r ON r.process_id = t.process_id AND r.start_ns >= t.start_ns AND r.start_ns < t.end_ns
    WHERE r.name IN ('model', 'forward', 'backward', 'optimizer')),
  own AS (
    SELECT t.name AS training, a.category, a.name, a.bytes, a.start_ns, coalesce(a.freed_ns, t.end_ns) AS freed_ns
    FROM training t JOIN allocations a ON a.process_id = t.process_id AND a.space = 'device'
      AND a.start_ns >= t.start_ns AND a.start_ns < t.end_ns),
  live AS (
    SELECT m.training, m.name AS moment, m.state_bytes,
           sum(CASE WHEN o.category = 'parameter' THEN o.bytes ELSE 0 END) AS parameter,
           sum(CASE WHEN o.category = 'gradient' THEN o.bytes ELSE 0 END) AS gradient,
           sum(CASE WHEN o.category = 'optimizer_state' THEN o.bytes ELSE 0 END) AS state,
           sum(CASE WHEN o.category = 'activation' THEN o.bytes ELSE 0 END) AS activation
    FROM moment m JOIN own o ON o.training = m.training AND o.start_ns <= m.at_ns AND o.freed_ns > m.at_ns
    GROUP BY m.training, m.name),
  change AS (
    SELECT training, start_ns AS at_ns, bytes FROM own WHERE name LIKE '%.denominator'
    UNION ALL SELECT training, freed_ns, -bytes FROM own WHERE name LIKE '%.denominator'),
  denominators AS (
    SELECT training, max(bytes) AS peak
    FROM (SELECT training, sum(bytes) OVER (PARTITION BY training ORDER BY at_ns, bytes) AS bytes FROM change)
    GROUP BY training)
SELECT 'five trainings, four moments each' AS check_name, count(*) = 20 AS passed, count(*) AS detail FROM live
UNION ALL
SELECT 'parameters: 4 bytes each, always', min(parameter = 4 * :parameters), min(parameter) || '..' || max(parameter) FROM live
UNION ALL
SELECT 'gradients appear in the backward pass and stay',
       min(gradient = CASE WHEN moment IN ('backward', 'optimizer') THEN 4 * :parameters ELSE 0 END), max(gradient) FROM live
UNION ALL
SELECT 'optimizer state appears in the step: 0, 4 or 8 bytes a parameter',
       min(state = CASE WHEN moment = 'optimizer' THEN state_bytes * :parameters ELSE 0 END), max(state) FROM live
UNION ALL
SELECT 'activations are there after forward and gone after backward',
       min(CASE moment WHEN 'forward' THEN activation > 4 WHEN 'backward' THEN activation = 4 ELSE 1 END), max(activation)
FROM live
UNION ALL
SELECT 'AdamW: 16 bytes a parameter after the step', min(parameter + gradient + state = 16 * :parameters), count(*)
FROM live WHERE moment = 'optimizer' AND state_bytes = 8
UNION ALL
SELECT 'denominators at once: all of them, the largest, none',
       min(coalesce(d.peak, 0) = o.temporary_bytes), group_concat(o.name || ': ' || coalesce(d.peak, 0), ' | ')
FROM optimizer o LEFT JOIN denominators d ON d.training = o.name
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
