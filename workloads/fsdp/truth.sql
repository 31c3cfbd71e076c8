-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of workloads/fsdp: rows (check_name, passed, detail). Parameters: :layers, :ranks, :steps;
-- :block_shard and :root_shard are the elements of one rank's shard of a block and of the root group (embedding, norm, head).
WITH
  step AS (SELECT process_id, rank, step, start_ns, start_ns + duration_ns AS end_ns FROM steps),
  phase AS (SELECT process_id, name, start_ns, start_ns + duration_ns AS end_ns FROM ranges WHERE name IN ('forward', 'backward')),
  gathered AS (
    SELECT s.rank, s.step, c.operation, p.name AS phase, count(*) AS n
    FROM step s JOIN collectives c ON c.process_id = s.process_id AND c.start_ns >= s.start_ns AND c.start_ns < s.end_ns
         LEFT JOIN phase p ON p.process_id = c.process_id AND c.start_ns >= p.start_ns AND c.start_ns < p.end_ns
    GROUP BY s.rank, s.step, c.operation, p.name),
  gpu AS (
    SELECT process_id, correlation FROM kernels UNION ALL SELECT process_id, correlation FROM copies
    UNION ALL SELECT process_id, correlation FROM memory_sets)
SELECT 'every rank is there' AS check_name, count(DISTINCT rank) = :ranks AS passed, count(DISTINCT rank) AS detail FROM kernels
UNION ALL
SELECT 'every rank has every step', count(*) = :ranks * :steps AND min(duration_ns) > 0, count(*) FROM steps
UNION ALL
SELECT 'forward: layers + 1 all-gathers a step', count(*) = :ranks * :steps AND min(n) = :layers + 1 AND max(n) = :layers + 1,
       min(n) || '..' || max(n) FROM gathered WHERE operation = 'AllGather' AND phase = 'forward'
UNION ALL
SELECT 'backward: layers all-gathers a step', count(*) = :ranks * :steps AND min(n) = :layers AND max(n) = :layers,
       min(n) || '..' || max(n) FROM gathered WHERE operation = 'AllGather' AND phase = 'backward'
UNION ALL
SELECT 'backward: layers + 1 reduce-scatters a step', count(*) = :ranks * :steps AND min(n) = :layers + 1 AND max(n) = :layers + 1,
       min(n) || '..' || max(n) FROM gathered WHERE operation = 'ReduceScatter'
UNION ALL
SELECT 'all-gathers are bf16 of the shards'' sizes', count(*) = 0, count(*)
FROM collectives WHERE operation = 'AllGather'
  AND NOT (datatype LIKE '%Bfloat16' AND element_count IN (:block_shard, :root_shard) AND bytes = :ranks * element_count * 2)
UNION ALL
SELECT 'reduce-scatters are fp32 of the shards'' sizes', count(*) = 0, count(*)
FROM collectives WHERE operation = 'ReduceScatter'
  AND NOT (datatype LIKE '%Float32' AND element_count IN (:block_shard, :root_shard) AND bytes = :ranks * element_count * 4)
UNION ALL
SELECT 'each all-gather and reduce-scatter has exactly one kernel',
       count(*) = count(DISTINCT id) AND count(*) = count(kernel_id) AND count(*) = count(DISTINCT kernel_id), count(*)
FROM collectives WHERE operation IN ('AllGather', 'ReduceScatter')
UNION ALL
SELECT 'each communication kernel has its collective',
       (SELECT count(*) FROM kernels WHERE name GLOB 'ncclDevKernel*' OR name GLOB 'ncclKernel*')
         = (SELECT count(DISTINCT kernel_id) FROM collectives),
       (SELECT count(*) FROM kernels WHERE name GLOB 'ncclDevKernel*' OR name GLOB 'ncclKernel*')
UNION ALL
SELECT 'collectives know communicator, sequence, algorithm and protocol', count(*) = 0, count(*)
FROM collectives WHERE communicator IS NULL OR sequence < 0 OR algorithm IS NULL OR protocol IS NULL OR n_ranks <> :ranks
UNION ALL
SELECT 'ranks agree on (communicator, operation, sequence)', count(*) = 0, count(*)
FROM (SELECT 1 FROM collectives GROUP BY communicator, operation, sequence HAVING count(DISTINCT rank) <> :ranks)
UNION ALL
SELECT 'kernels, copies and sets join an API call by correlation', count(*) = 0, count(*)
FROM gpu g LEFT JOIN api_calls a ON a.process_id = g.process_id AND a.correlation = g.correlation WHERE a.id IS NULL
UNION ALL
SELECT 'no correlation joins two API calls', count(*) = 0, count(*)
FROM (SELECT 1 FROM api_calls WHERE layer = 'runtime' GROUP BY process_id, correlation HAVING count(*) > 1)
UNION ALL
SELECT 'no event is without a time', (SELECT count(*) FROM kernels WHERE flags & 1) + (SELECT count(*) FROM copies WHERE flags & 1) = 0,
       (SELECT count(*) FROM kernels WHERE flags & 1)
UNION ALL
SELECT 'every range is closed', count(*) = 0, count(*) FROM ranges WHERE duration_ns IS NULL
UNION ALL
SELECT 'every device allocation of a step is named', count(*) = 0, count(*)
FROM allocations a JOIN step s ON s.process_id = a.process_id AND a.start_ns >= s.start_ns AND a.start_ns < s.end_ns
WHERE a.space = 'device' AND a.category_source IS NULL
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
