-- SPDX-License-Identifier: Apache-2.0
-- Copies and sets
-- How much memory was copied or set, from where to where, and how fast?
-- by: kind, size, direction
-- rank: rank of the process; empty when the program set none, and by direction, which is over all processes, devices and memories
-- pid: process id
-- device: CUDA ordinal
-- name: direction of the copy, or set
-- source: kind of memory that was read; pageable memory makes the copy slower and the call blocking
-- target: kind of memory that was written
-- is_async: 1: the call was asynchronous
-- size: by size: class of the single copies; empty where the trace does not tell how large they are
-- calls: how many
-- total_bytes (bytes): sum; empty when the trace does not tell of all of them how large they are
-- avg_bytes (bytes): mean; likewise
-- median_bytes (bytes): median of those whose size is known
-- min_bytes (bytes): smallest of them
-- max_bytes (bytes): largest of them
-- stddev_bytes (bytes): sample standard deviation; empty for one
-- total_ns (ns): sum of the durations on the device
-- avg_ns (ns): mean duration
-- median_ns (ns): median duration
-- min_ns (ns): shortest
-- max_ns (ns): longest
-- stddev_ns (ns): sample standard deviation of the durations; empty for one call
-- bandwidth_bytes_per_s (bytes/s): total bytes / total duration; empty without total bytes
-- best_bytes_per_s (bytes/s): of the fastest single copy: what the link gave
-- link_bytes_per_s (bytes/s): most that the way can carry in one direction: for copies inside the device half its memory bandwidth (each byte is read and written), for sets the whole; between device and host PCIe, between devices NVLink or Infinity Fabric, where there is one, else PCIe
-- link_source: which roof that is, and whether it is given (--peak), measured (plumb calibrate) or of a datasheet, which is the fastest that the device can use: its slot may be slower
-- link_pct (%): bandwidth / link
-- link_note: why the link's peak is empty
-- share_pct (%): of the copy and set time of this process; by direction of all
WITH chosen AS (
  SELECT * FROM analysis_copies(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'kind') = 'kind'
  UNION ALL SELECT * FROM analysis_copies_by_size(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'size'
  UNION ALL SELECT * FROM analysis_copies_by_direction(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'direction')
SELECT rank, pid, device, name, source, target, is_async, size, calls, total_bytes, 1.0 * total_bytes / calls AS avg_bytes,
       median_bytes, min_bytes, max_bytes, stddev_bytes, total_ns,
       avg_ns, median_ns, min_ns, max_ns, stddev_ns, bandwidth_bytes_per_s, best_bytes_per_s, link_bytes_per_s,
       link_source,
       100.0 * bandwidth_bytes_per_s / link_bytes_per_s AS link_pct,
       CASE WHEN :by = 'direction' THEN ''
            WHEN link_bytes_per_s IS NULL
            THEN 'cannot say, because the recording does not tell its GPU, or the GPU is not known: --peak gives the peak of ' ||
                 CASE name WHEN 'copy HtoD' THEN 'PCIe' WHEN 'copy DtoH' THEN 'PCIe' WHEN 'copy PtoP' THEN 'NVLink or PCIe'
                           WHEN 'copy DtoD' THEN 'the device''s memory' WHEN 'set' THEN 'that memory' ELSE 'this way' END
            ELSE '' END AS link_note,
       100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY rank, pid), 0) AS share_pct
FROM chosen ORDER BY rank IS NULL, rank, pid, total_ns DESC, name;
