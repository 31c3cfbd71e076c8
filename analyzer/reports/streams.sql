-- SPDX-License-Identifier: Apache-2.0
-- Streams
-- How busy was each stream, and how many of a device were busy at once?
-- by: stream, device
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal
-- stream: CUPTI's stream id; empty for a device
-- name: given by the program, else 'stream N'; empty for a device
-- streams: streams with work
-- events: kernels, copies and sets
-- total_ns (ns): sum of their durations
-- busy_ns (ns): union of them
-- busy_pct (%): of span_ns
-- span_ns (ns): from the device's first work to its last
-- one_ns (ns): part of busy_ns with exactly one stream of the device busy
-- two_ns (ns): with exactly two
-- more_ns (ns): with three or more
-- concurrent_pct (%): of busy_ns, with more than one stream busy
SELECT rank, pid, device, stream, name, streams, events, total_ns, busy_ns, 100.0 * busy_ns / nullif(span_ns, 0) AS busy_pct, span_ns,
       one_ns, two_ns, more_ns, 100.0 * (two_ns + more_ns) / nullif(busy_ns, 0) AS concurrent_pct
FROM analysis_streams(:rank, :step, :range, :from_ns, :to_ns) WHERE level = coalesce(:by, 'stream');
