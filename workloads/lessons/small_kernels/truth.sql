-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of the lesson "small_kernels": rows (check_name, passed, detail). Parameters: :layers, :steps.
WITH
  way AS (SELECT process_id, thread_id, id, name, start_ns, start_ns + duration_ns AS end_ns FROM ranges
          WHERE name GLOB 'eager, batch *' OR name GLOB 'fused, batch *' OR name GLOB 'graph, batch *'),
  launched AS (
    SELECT w.id AS step, w.name, a.name AS call, a.correlation, a.process_id
    FROM way w JOIN api_calls a ON a.process_id = w.process_id AND a.thread_id = w.thread_id AND a.start_ns >= w.start_ns
      AND a.start_ns < w.end_ns WHERE a.name GLOB 'cudaLaunchKernel*' OR a.name GLOB 'cudaGraphLaunch*'),
  calls AS (SELECT step, name, count(*) AS n FROM launched GROUP BY step, name),
  worked AS (SELECT l.name, avg(k.duration_ns) AS ns FROM launched l JOIN kernels k ON k.process_id = l.process_id
             AND k.correlation = l.correlation WHERE l.name GLOB 'eager*' GROUP BY l.name),
  executed AS (SELECT l.step, l.name, count(*) AS n FROM launched l JOIN kernels k ON k.process_id = l.process_id
               AND k.correlation = l.correlation GROUP BY l.step, l.name)
SELECT 'three ways, two batches, every step' AS check_name, count(*) = 6 AND min(n) >= :steps AS passed, min(n) || '..' || max(n) AS detail
FROM (SELECT count(*) AS n FROM way GROUP BY name)
UNION ALL
SELECT 'the eager chain launches 11 kernels a layer', min(n) = 11 * :layers AND max(n) = 11 * :layers, min(n) || '..' || max(n)
FROM calls WHERE name GLOB 'eager*'
UNION ALL
SELECT 'fused: one a layer', min(n) = :layers AND max(n) = :layers, min(n) || '..' || max(n) FROM calls WHERE name GLOB 'fused*'
UNION ALL
SELECT 'the graph: one launch call', min(n) = 1 AND max(n) = 1, min(n) || '..' || max(n) FROM calls WHERE name GLOB 'graph*'
UNION ALL
SELECT 'the graph: all kernels of the chain, under its correlation id', min(n) = 11 * :layers AND max(n) = 11 * :layers,
       min(n) || '..' || max(n) FROM executed WHERE name GLOB 'graph*'
UNION ALL
SELECT 'kernels of a graph say so', min(k.graph_node_id IS NOT NULL AND k.flags & 2), count(*)
FROM launched l JOIN kernels k ON k.process_id = l.process_id AND k.correlation = l.correlation WHERE l.call GLOB 'cudaGraphLaunch*'
UNION ALL
SELECT 'the host is through with a graph sooner than with the chain, for either batch', min(graph < eager), group_concat(round(graph / 1e3, 1) || ' against ' || round(eager / 1e3, 1) || ' us', ' | ')
FROM (SELECT batch, min(ns) FILTER (WHERE kind = 'graph') AS graph, min(ns) FILTER (WHERE kind = 'eager') AS eager
      FROM (SELECT substr(l.name, 1, 5) AS kind, substr(l.name, 7) AS batch, sum(a.duration_ns) AS ns
            FROM launched l JOIN api_calls a ON a.process_id = l.process_id AND a.correlation = l.correlation GROUP BY l.step, l.name)
      GROUP BY batch)
UNION ALL
SELECT 'the fused kernel''s device time is less than the chain''s, for either batch', min(fused < eager), group_concat(round(fused / 1e3, 1) || ' against ' || round(eager / 1e3, 1) || ' us', ' | ')
FROM (SELECT batch, min(ns) FILTER (WHERE kind = 'fused') AS fused, min(ns) FILTER (WHERE kind = 'eager') AS eager
      FROM (SELECT substr(l.name, 1, 5) AS kind, substr(l.name, 7) AS batch, sum(k.duration_ns) AS ns
            FROM launched l JOIN kernels k ON k.process_id = l.process_id AND k.correlation = l.correlation GROUP BY l.step, l.name)
      GROUP BY batch)
UNION ALL
SELECT 'kernels of batch 8192 work at least 4 times longer: those of batch 64 are mostly launch',
       (SELECT avg(ns) FROM worked WHERE name = 'eager, batch 8192') > 4 * (SELECT avg(ns) FROM worked WHERE name = 'eager, batch 64'),
       (SELECT group_concat(name || ': ' || round(ns / 1e3, 1) || ' us', ' | ') FROM worked)
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
