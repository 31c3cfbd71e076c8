-- SPDX-License-Identifier: Apache-2.0
-- Critical path
-- What did the run's end depend on, over all ranks, and what would a faster kernel gain?
-- by: category, segment, kernel
-- rank: rank of the process, with --by segment
-- pid: process id, with --by segment
-- start_ns (ns): with --by segment; by the clock of the process's host
-- category: compute, communication, memory, launch (the latency from what GPU work waited for, mostly the begin of its launch call, to its start, at most 100 µs after the call's end; not idle's launch_bound, which also holds the host's own time before that call, here host), host, data_loading or unknown (GPU work began later than that, or the recording of the thread that the path begins with later than another rank's, and nothing recorded explains it). Inferred, because no recording says how threads wait for each other: after a pause of 200 µs without operators, data loading and CUDA calls of its thread the path leads through the last call that another thread of the process made late in it; other pauses are host. clocks: what is to be said of the ranks' clocks; ranks whose clock cannot be compared are left out
-- name: with --by segment the kernel or copy; of the host what was innermost: the range, operator or Python function, else the CUDA call, else the call of the operating system's library, empty where nothing was recorded; with --by kernel the kernel
-- thread: with --by segment: of host time; its name or id
-- path_ns (ns): on the path; the categories add up to the time from the first to the last event (GPU work, CUDA calls but those that only ask, as cudaEventQuery, and of threads that make calls operators and data loading), and so do the segments
-- share_pct (%): of that time
-- calls: with --by kernel: how often it ran
-- calls_on_path: with --by kernel: of them on the path
-- total_ns (ns): with --by kernel: sum of its durations; in collectives of which other ranks are in the file from the last one's arrival
-- saved_if_twice_as_fast_ns (ns): with --by kernel: what the run would gain, recomputed with everything that depends on it; the host's code and the lags of launches stay as they were. The 20 names with most time on the path
-- saved_if_free_ns (ns): with --by kernel: likewise if it took no time: the bound of what it can gain
-- exposed_communication_ns (ns): of all devices: communication without compute; with communication
-- exposed_communication_on_path_ns (ns): the part of it that is on the path, so that the run waited for it; with communication
-- note: what cannot be said, or is not proven
SELECT NULL AS rank, NULL AS pid, NULL AS start_ns, category, NULL AS name, NULL AS thread, path_ns, 100.0 * path_ns / nullif(whole_ns, 0) AS share_pct,
       NULL AS calls, NULL AS calls_on_path, NULL AS total_ns, NULL AS saved_if_twice_as_fast_ns, NULL AS saved_if_free_ns,
       exposed_communication_ns, exposed_communication_on_path_ns, note
FROM analysis_critical_path(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'category') = 'category'
UNION ALL
SELECT rank, pid, start_ns, category, name, thread, path_ns, 100.0 * path_ns / nullif(whole_ns, 0), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM analysis_critical_path_segments(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'segment'
UNION ALL
SELECT NULL, NULL, NULL, NULL, name, NULL, path_ns, 100.0 * path_ns / nullif(whole_ns, 0), calls, calls_on_path, total_ns,
       saved_if_twice_as_fast_ns, saved_if_free_ns, NULL, NULL, NULL
FROM analysis_critical_path_kernels(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'kernel';
