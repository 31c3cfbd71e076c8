-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of workloads/fsdp with any of its options under Distribution: rows (check_name, passed,
-- detail). Parameters: :ranks, :steps, :layers; per step and rank :forward_gathers, :backward_gathers, :reduce_scatters,
-- :gradient_all_reduces; :micro_steps; :prefetch (-1: nothing is gathered); :recomputes (0 or 1); :shards; the two types
-- as bytes of an element, :parameter_bytes and :reduce_bytes; :checkpoint (0 or 1: --save was given).
WITH
  step AS (SELECT process_id, rank, step, start_ns, start_ns + duration_ns AS end_ns FROM steps),
  phase AS (
    SELECT r.process_id, r.name, s.step, r.start_ns, r.start_ns + r.duration_ns AS end_ns
    FROM ranges r JOIN step s ON s.process_id = r.process_id AND r.start_ns >= s.start_ns AND r.start_ns < s.end_ns
    WHERE r.name IN ('forward', 'backward')),
  collective AS (
    SELECT c.*, s.step, (SELECT p.name FROM phase p WHERE p.process_id = c.process_id AND c.start_ns >= p.start_ns
                                                      AND c.start_ns < p.end_ns) AS phase
    FROM step s JOIN collectives c ON c.process_id = s.process_id AND c.start_ns >= s.start_ns AND c.start_ns < s.end_ns),
  counted AS (
    SELECT s.process_id, s.step,
           sum(c.operation = 'AllGather' AND c.phase = 'forward') AS forward_gathers,
           sum(c.operation = 'AllGather' AND c.phase = 'backward') AS backward_gathers,
           sum(c.operation = 'ReduceScatter') AS reduce_scatters,
           sum(c.operation = 'AllReduce' AND c.phase = 'backward') AS gradient_all_reduces,
           sum(c.operation = 'AllReduce' AND c.phase IS NULL) AS loss_all_reduces
    FROM step s LEFT JOIN collective c ON c.process_id = s.process_id AND c.step = s.step GROUP BY s.process_id, s.step),
  -- Of every forward pass of a block: how many blocks were asked for before it began.
  ahead AS (
    SELECT CAST(substr(b.name, 7) AS INTEGER) AS block,
           (SELECT count(*) FROM ranges g WHERE g.process_id = p.process_id AND g.name GLOB 'all-gather block *'
                                            AND g.start_ns >= p.start_ns AND g.start_ns < b.start_ns) AS gathered
    FROM phase p JOIN ranges b ON b.process_id = p.process_id AND b.start_ns >= p.start_ns AND b.start_ns < p.end_ns
    WHERE p.name = 'forward' AND b.name GLOB 'block *')
SELECT 'every rank has every step' AS check_name, count(*) = :ranks * :steps AS passed, count(*) AS detail FROM step
UNION ALL
SELECT 'forward all-gathers', min(forward_gathers) = :forward_gathers AND max(forward_gathers) = :forward_gathers,
       min(forward_gathers) || '..' || max(forward_gathers) FROM counted
UNION ALL
SELECT 'backward all-gathers', min(backward_gathers) = :backward_gathers AND max(backward_gathers) = :backward_gathers,
       min(backward_gathers) || '..' || max(backward_gathers) FROM counted
UNION ALL
SELECT 'reduce-scatters', min(reduce_scatters) = :reduce_scatters AND max(reduce_scatters) = :reduce_scatters,
       min(reduce_scatters) || '..' || max(reduce_scatters) FROM counted
UNION ALL
SELECT 'all-reduces of gradients', min(gradient_all_reduces) = :gradient_all_reduces AND max(gradient_all_reduces) = :gradient_all_reduces,
       min(gradient_all_reduces) || '..' || max(gradient_all_reduces) FROM counted
UNION ALL
SELECT 'one all-reduce of the loss', min(loss_all_reduces) = 1 AND max(loss_all_reduces) = 1,
       min(loss_all_reduces) || '..' || max(loss_all_reduces) FROM counted
UNION ALL
SELECT 'gradients are reduced in the last micro step only', count(*) = 0, count(*)
FROM collective c WHERE c.phase = 'backward' AND c.operation <> 'AllGather' AND c.start_ns < (
  SELECT max(p.start_ns) FROM phase p WHERE p.process_id = c.process_id AND p.step = c.step AND p.name = 'backward')
UNION ALL
SELECT 'a forward and a backward pass per micro step', count(*) = 2 * :micro_steps * :ranks * :steps, count(*) FROM phase
UNION ALL
SELECT 'all-gathers have the parameter type and run over the shards', count(*) = 0, count(*) FROM collective
WHERE operation = 'AllGather' AND NOT (n_ranks = :shards AND bytes = :shards * element_count * :parameter_bytes)
UNION ALL
SELECT 'reduce-scatters have the reduce type and run over the shards', count(*) = 0, count(*) FROM collective
WHERE operation = 'ReduceScatter' AND NOT (n_ranks = :shards AND bytes = :shards * element_count * :reduce_bytes)
UNION ALL
SELECT 'all-reduces of gradients have the reduce type and run over the replicas', count(*) = 0, count(*) FROM collective
WHERE operation = 'AllReduce' AND phase = 'backward'
  AND NOT (n_ranks = :ranks / :shards AND bytes = element_count * :reduce_bytes)
UNION ALL
SELECT 'as many blocks are gathered ahead as asked for',
       :prefetch < 0 OR (count(*) > 0 AND sum(gathered <> min(:layers, block + 1 + :prefetch)) = 0),
       sum(gathered <> min(:layers, block + 1 + :prefetch)) FROM ahead
UNION ALL
SELECT 'without prefetch no compute kernel runs beside an all-gather', count(*) = 0, count(*)
FROM collective c JOIN kernels g ON g.id = c.kernel_id
     JOIN kernels k ON k.process_id = g.process_id AND k.stream <> g.stream AND k.start_ns < g.start_ns + g.duration_ns
                   AND k.start_ns + k.duration_ns > g.start_ns
WHERE :prefetch = 0 AND c.operation = 'AllGather'
UNION ALL
SELECT 'blocks are recomputed in the backward pass, or not', count(*) = :recomputes * :layers * :micro_steps * :ranks * :steps, count(*)
FROM ranges WHERE name GLOB 'recompute block *'
UNION ALL
SELECT 'a checkpoint is gathered to rank 0', (count(*) > 0) = :checkpoint, count(*)
FROM copies c JOIN ranges r ON r.process_id = c.process_id
WHERE r.name = 'save checkpoint' AND c.rank = 0 AND c.copy_kind = 'DtoH'
  AND c.start_ns >= r.start_ns AND c.start_ns < r.start_ns + r.duration_ns
UNION ALL
SELECT 'ranks of a communicator agree on (operation, sequence)', count(*) = 0, count(*)
FROM (SELECT 1 FROM collectives WHERE operation NOT IN ('Send', 'Recv') GROUP BY communicator, operation, sequence
      HAVING count(DISTINCT rank) <> max(n_ranks))
UNION ALL
SELECT 'every range is closed', count(*) = 0, count(*) FROM ranges WHERE duration_ns IS NULL
UNION ALL
SELECT 'every device allocation of a step is named', count(*) = 0, count(*)
FROM allocations a JOIN step s ON s.process_id = a.process_id AND a.start_ns >= s.start_ns AND a.start_ns < s.end_ns
WHERE a.space = 'device' AND a.category_source IS NULL
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
