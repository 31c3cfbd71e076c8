-- SPDX-License-Identifier: Apache-2.0
-- Stragglers
-- Which rank made the others wait in collectives, and what made it late?
-- no: by: it has one row per rank; collective_instances has one per collective
-- empty: Cannot say, because no collective has all its ranks in the file with clocks that can be compared: report collective_instances says of each why.
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- instances: collectives of which every rank is in the file
-- arrived_last: of them those in which it arrived last
-- arrived_last_pct (%): of instances
-- caused_wait_ns (ns): sum of the others' waits (last arrival - own arrival) in those
-- waited_ns (ns): what it waited for others
-- phase: the largest part of what it caused; empty: nothing explained
-- late_range: the range in which it spent most of that phase: of compute and copies the innermost around the launching calls, of data loading the loader's, of launch the innermost of the thread that calls the collectives; empty: none
-- compute_ns (ns): part of caused_wait: it computed longer than the others since the communicator's previous collective. Parts are sums over the others of the difference, negative where it was faster, and add up
-- previous_collective_ns (ns): part: it was in another collective, or left the previous one later
-- copies_ns (ns): part: memory copies and sets
-- data_loading_ns (ns): part: its host loaded data while its device did nothing
-- launch_ns (ns): part: its device waited for the host's launches
-- recording_later_ns (ns): part: the others waited in the first collective because its recording (or its process) began later; that is no lateness
-- unexplained_ns (ns): part: the rest of collectives that are the first of their communicator
SELECT rank, pid, instances, arrived_last, arrived_last_pct, caused_wait_ns, waited_ns, phase, late_range, compute_ns, previous_collective_ns,
       copies_ns, data_loading_ns, launch_ns, recording_later_ns, unexplained_ns
FROM analysis_stragglers(:rank, :step, :range, :from_ns, :to_ns);
