-- SPDX-License-Identifier: Apache-2.0
-- Counters
-- Which numbers were sampled over time (device metrics, loss, loss scale), and what were they?
-- no: by: it has one row per counter, and different counters do not add up
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- name: counter; its unit, where it has one, is part of its name
-- samples: how many
-- min: smallest value
-- avg: mean of the samples, not weighed by time
-- max: largest value
-- first: first value
-- last: last value
-- first_time_ns (ns): when it was sampled first, since the session's start
-- last_time_ns (ns): when last
-- max_time_ns (ns): when it was first largest
SELECT rank, pid, name, samples, min, avg, max, first, last, first_time_ns, last_time_ns, max_time_ns
FROM analysis_counters(:rank, :step, :range, :from_ns, :to_ns);
