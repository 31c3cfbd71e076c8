-- SPDX-License-Identifier: Apache-2.0
-- Communication matrix
-- How many bytes went from which rank to which?
-- source_rank: of the run; empty when it is not known
-- target_rank: of the run; empty when it is not known
-- convention: exact (send, and all-to-all with split sizes); ring (other collectives: each rank to the next one of its communicator; all-reduce 2(n-1)/n of the bytes, all-gather and reduce-scatter (n-1)/n); pairwise (all-to-all: 1/n to each); direct (gather, scatter). The library may have chosen another way: then the sums hold, the pairs need not
-- operations: collectives, sends (and receives from ranks that are not in the file)
-- bytes (bytes): sum; empty: the records do not say their place in the communicator
SELECT source_rank, target_rank, convention, operations, bytes
FROM analysis_communication_matrix(:rank, :step, :range, :from_ns, :to_ns);
