-- SPDX-License-Identifier: Apache-2.0
-- Weights and optimizer state in 16 bits
-- An optimizer whose kernels work on 16-bit weights (told by the kernels' names): updates smaller than half the distance of two weights are lost, squares of small gradients become 0
-- needs: device work
-- remedy: Keep weights, gradients and optimizer state in fp32 and cast for the matrix products only (torch.autocast in place
--   of model.half()), or keep fp32 master weights.
WITH optimizer AS (
  SELECT id, text, text LIKE '%(__half%' OR text LIKE '%<c10::half%' OR text LIKE '%(__nv_bfloat16%' OR text LIKE '%<c10::bfloat16%' AS is_half
  FROM main.string
  WHERE (text LIKE '%adam%' OR text LIKE '%sgd%' OR text GLOB '*LAMB*' OR text GLOB '*[Ll]amb[_CS]*' OR text GLOB '*Lion*' OR text GLOB '*lion_*' OR text LIKE '%adagrad%' OR text LIKE '%rmsprop%') AND text NOT LIKE '%master%'),
used AS (
  SELECT k.process_id AS process_id, s.is_half AS is_half, count(*) AS count, sum(k.duration_ns) AS total_ns, min(k.id) AS first_id, max(k.id) AS last_id,
         min(k.start_ns) AS start_ns, max(k.start_ns + k.duration_ns) AS end_ns, min(n.text) AS name
  FROM gpu_window(:rank, :step, :range, :from_ns, :to_ns) w
       JOIN main.kernel k ON k.process_id = w.process_id AND k.start_ns >= w.start_ns AND k.start_ns < w.end_ns AND k.name_id IN (SELECT id FROM optimizer)
       JOIN optimizer s ON s.id = k.name_id JOIN main.string n ON n.id = k.short_name_id
  GROUP BY k.process_id, s.is_half),
said AS (  -- what the program counted itself
  SELECT r.process_id AS process_id, n.text AS name, max(CAST(v.value AS INTEGER)) AS value
  FROM main.range r JOIN main.string n ON n.id = r.name_id AND n.text LIKE '%inf or nan%' JOIN main.range_payload v ON v.range_id = r.id
  GROUP BY r.process_id, n.text HAVING max(CAST(v.value AS INTEGER)) > 0)
SELECT p.rank AS rank, p.pid AS pid,
       printf('the optimizer works on 16-bit weights: %s, %d times%s', h.name, h.count, coalesce((SELECT printf('; the program counted %s: %d', s.name, s.value) FROM said s WHERE s.process_id = h.process_id), '')) AS finding,
       NULL AS gain_ns, 'no time: what the weights learn is at stake' AS arithmetic, h.start_ns AS start_ns, h.end_ns AS end_ns,
       'kernel ' || h.first_id || ', kernel ' || h.last_id AS evidence, NULL AS cannot_say
FROM used h JOIN analysis_processes p ON p.id = h.process_id WHERE h.is_half
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no kernel can be told to be an optimizer''s by its name' WHERE NOT EXISTS (SELECT 1 FROM used);
