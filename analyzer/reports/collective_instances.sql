-- SPDX-License-Identifier: Apache-2.0
-- Collective instances
-- When did each rank arrive in each collective, how long did it wait, and who was last?
-- by: instance, rank
-- communicator: its name, else its hash in hexadecimal
-- operation: NCCL's name
-- sequence: NCCL's sequence number; with communicator and operation it says which ranks' records belong together
-- bytes (bytes): NCCL's convention; empty: none, or not known
-- ranks: number of ranks of the communicator; empty when it is not known
-- recorded: ranks of it that are in the file; of what cannot be matched the number of records or kernels
-- rank: of the row, by rank; by instance the straggler: who arrived last; empty when all arrived together
-- pid: process id of that rank
-- arrival_ns (ns): start of the rank's kernel; by instance the last arrival. Of other hosts after taking off their clock's offset
-- end_ns (ns): end of the rank's kernel; by instance the last one
-- wait_ns (ns): last arrival - the rank's arrival; by instance the sum over ranks
-- skew_ns (ns): last arrival - first arrival
-- transfer_ns (ns): last end - last arrival
-- algbw_bytes_per_s (bytes/s): bytes / transfer
-- busbw_bytes_per_s (bytes/s): algbw x bus factor
-- late_phase: what made the straggler late: compute, previous collective, copies, data loading or launch; recording began later: the wait of the first collective was mostly for that and is no lateness; empty for the first of a communicator otherwise
-- matched: yes, or why skew and transfer cannot be said
SELECT communicator, operation, sequence, nullif(bytes, 0) AS bytes, ranks, recorded, straggler_rank AS rank, straggler_pid AS pid,
       last_arrival_ns AS arrival_ns, last_arrival_ns + transfer_ns AS end_ns, wait_ns, skew_ns, transfer_ns,
       iif(bytes = 0, NULL, algbw_bytes_per_s) AS algbw_bytes_per_s, iif(bytes = 0, NULL, busbw_bytes_per_s) AS busbw_bytes_per_s, late_phase, matched
FROM analysis_collective_instances(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'instance') = 'instance'
UNION ALL
SELECT communicator, operation, sequence, nullif(bytes, 0), ranks, recorded, rank, pid, arrival_ns, end_ns, wait_ns, NULL, NULL, NULL,
       NULL, NULL, matched
FROM analysis_collective_members(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'rank';
