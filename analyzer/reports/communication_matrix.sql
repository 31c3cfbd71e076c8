-- SPDX-License-Identifier: Apache-2.0
-- Communication matrix
-- How many bytes went from which rank to which?
-- by: pair, source, target
-- empty: No collective or copy between devices tells who sent to whom.
-- source_rank: of the run; empty by target, or when it is not known
-- target_rank: of the run; empty by source, or when it is not known
-- convention: by pair: exact (send, and all-to-all with split sizes); ring (other collectives: each rank to the next one of its communicator; all-reduce 2(n-1)/n of the bytes, all-gather and reduce-scatter (n-1)/n); pairwise (all-to-all: 1/n to each); direct (gather, scatter). The library may have chosen another way: then the sums hold, the pairs need not
-- operations: collectives, sends (and receives from ranks that are not in the file)
-- bytes (bytes): sum; empty: the records do not say their place in the communicator
WITH found AS (SELECT * FROM analysis_communication_matrix(:rank, :step, :range, :from_ns, :to_ns))
SELECT source_rank, target_rank, convention, operations, bytes FROM found WHERE coalesce(:by, 'pair') = 'pair'
UNION ALL
SELECT * FROM (
  SELECT CASE WHEN :by = 'source' THEN source_rank END AS source_rank, CASE WHEN :by = 'target' THEN target_rank END AS target_rank,
         NULL, sum(operations), sum(bytes)
  FROM found WHERE :by IN ('source', 'target') GROUP BY 1, 2 ORDER BY 1, 2);
