-- SPDX-License-Identifier: Apache-2.0
-- Stuck collectives
-- In which collective does the run hang, and which ranks are missing?
-- by: collective, rank
-- state: held back: some ranks completed it and the missing ones did not; never called: the missing ranks never called it; called differently: they called another operation, other sizes or another data type; waiting: all called it and none completed it; cannot say
-- process_group: as the framework calls it; of a recording the communicator's name or id
-- rank: by rank: of whom the row is
-- part: by rank: missing, waiting or completed
-- description: by collective: what the program uses the group for
-- operation: the framework's name, of a send or receive as the sender calls it; by rank as the rank calls it; of a recording NCCL's
-- sequence: number of the collective in its group, the same on every rank; of a send or receive the sender's own count, by rank the rank's
-- sizes: by collective: of the input, on the lowest rank that called it; of a recording the number of elements
-- datatype: by collective: NCCL's name
-- missing_ranks: by collective: ranks of the run that keep the others waiting; empty when that cannot be said
-- waiting_ranks: by collective: called it and have not completed it, without the missing
-- completed_ranks: by collective: have completed it
-- since_ns (ns): when the first of those that have not completed it called it, since the session's start; by rank when the rank did
-- place: by collective: where it was called: a line of code, of a recording the innermost range; empty when neither was recorded
-- waited_ns (ns): of a recording: the longest that a rank waited in it: its kernel's time, or to the end of its recording
-- reason: what that follows from, and of a recording what the missing ranks did meanwhile; by rank what the rank did, where it is missing
SELECT state, process_group, NULL AS rank, NULL AS part, description, operation, sequence, sizes, datatype, missing_ranks, waiting_ranks,
       completed_ranks, since_ns, place, waited_ns, reason
FROM analysis_stuck(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'collective') = 'collective'
UNION ALL
SELECT state, process_group, rank, part, NULL, operation, sequence, NULL, NULL, NULL, NULL, NULL, called_ns, NULL, waited_ns, doing
FROM analysis_stuck_members(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'rank';
