-- SPDX-License-Identifier: Apache-2.0
-- Stuck collectives
-- In which collective does the run hang, and which ranks are missing?
-- state: held back: some ranks completed it and the missing ones did not; never called: the missing ranks never called it; called differently: they called another operation or other sizes; waiting: all called it and none completed it; cannot say
-- process_group: as the framework calls it
-- description: what the program uses the group for
-- operation: the framework's name
-- sequence: number of the collective in its group, the same on every rank; of a send or receive the rank's own count
-- sizes: of the input, on the lowest rank that called it
-- datatype: NCCL's name
-- missing_ranks: ranks of the run that keep the others waiting; empty when that cannot be said
-- waiting_ranks: called it and have not completed it, without the missing
-- completed_ranks: have completed it
-- since_ns (ns): when the first of those that have not completed it called it, since the session's start
-- place: where it was called; empty when no call stack was recorded
-- reason: what that follows from
SELECT state, process_group, description, operation, sequence, sizes, datatype, missing_ranks, waiting_ranks, completed_ranks, since_ns, place, reason
FROM analysis_stuck(:rank);
