-- SPDX-License-Identifier: Apache-2.0
-- Fragmentation
-- How much memory does the allocator hold without handing it out, and how much of that can serve a large allocation?
-- no: by: its moments are states of a whole device, which do not add up
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal; empty when it is not known
-- moment: when most was reserved (while it was, when most of it was handed out), when most was cached, the end, and where the program ran out of memory the first time that it did
-- time_ns (ns): of the moment, since the session's start
-- reserved_bytes (bytes): held from the driver; empty when it is not known
-- allocated_bytes (bytes): handed out to the program
-- cached_bytes (bytes): reserved - allocated
-- cached_pct (%): of reserved
-- segments: pieces that the driver gave; empty when they were not recorded
-- free_bytes (bytes): in segments, neither handed out nor waiting for a stream
-- largest_free_bytes (bytes): the largest free block in a segment
-- fragmentation_pct (%): 1 - largest free block / free: what of the free memory one large allocation cannot use
-- reserved_source: what reserved is known from, or why it cannot be said
SELECT rank, pid, device, moment, time_ns, reserved_bytes, allocated_bytes, cached_bytes, cached_pct, segments, free_bytes, largest_free_bytes,
       fragmentation_pct, reserved_source
FROM analysis_fragmentation(:rank, :step, :range, :from_ns, :to_ns);
