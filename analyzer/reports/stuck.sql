-- SPDX-License-Identifier: Apache-2.0
-- Stuck collectives
-- In which collective does the run hang, and which ranks are missing?
-- state: held back: some ranks completed it and the missing ones did not; never called: the missing ranks never called it; called differently: they called another operation or other sizes; waiting: all called it and none completed it; cannot say
-- process_group: as the framework calls it; of a recording the communicator's name or id
-- description: what the program uses the group for
-- operation: the framework's name; of a recording NCCL's
-- sequence: number of the collective in its group, the same on every rank; of a send or receive the rank's own count
-- sizes: of the input, on the lowest rank that called it; of a recording the number of elements
-- datatype: NCCL's name
-- missing_ranks: ranks of the run that keep the others waiting; empty when that cannot be said
-- waiting_ranks: called it and have not completed it, without the missing
-- completed_ranks: have completed it
-- since_ns (ns): when the first of those that have not completed it called it, since the session's start
-- place: where it was called: a line of code, of a recording the innermost range; empty when neither was recorded
-- waited_ns (ns): of a recording: the longest that a rank waited in it: its kernel's time, or to the end of its recording
-- reason: what that follows from, and of a recording what the missing ranks did meanwhile
SELECT state, process_group, description, operation, sequence, sizes, datatype, missing_ranks, waiting_ranks, completed_ranks, since_ns, place, waited_ns, reason
FROM analysis_stuck(:rank);
