-- SPDX-License-Identifier: Apache-2.0
-- Device memory is nearly full
-- The program ran out of device memory; or a peak of more than 90 % of the device's memory: the next larger batch, or fragmentation, ends in that
-- threshold: 90 % of the device's memory
-- remedy: Activation checkpointing, sharded optimizer state, a smaller batch with gradient accumulation, or
--   PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.
WITH failed AS MATERIALIZED (SELECT * FROM analysis_out_of_memory(:rank, NULL, NULL, NULL, NULL)),
exhausted AS MATERIALIZED (
  SELECT *, replace(message, 'out of memory: ', '') AS what,
         CAST(replace(message, 'out of memory: ', '') AS REAL)
           * CASE WHEN message GLOB '* GiB were asked*' THEN 1073741824.0 WHEN message GLOB '* MiB were asked*' THEN 1048576.0 WHEN message GLOB '* KiB were asked*' THEN 1024.0 WHEN message GLOB '* B were asked*' THEN 1.0 END AS asked_bytes
  FROM analysis_fragmentation(:rank, NULL, NULL, NULL, NULL) WHERE moment = 'out of memory'),
calls AS (SELECT rank, pid, time_ns, what, min(api_call_id) AS api_call_id FROM failed GROUP BY rank, pid, time_ns, what),
-- Of these no allocation was recorded.
bare AS (SELECT rank, pid, min(time_ns) AS time_ns, what FROM failed f WHERE NOT EXISTS (SELECT 1 FROM exhausted e WHERE e.pid IS f.pid AND e.rank IS f.rank) GROUP BY rank, pid),
near AS (
  SELECT m.*, d.memory_bytes, p.id AS process_id
  FROM (SELECT rank, pid, device, max(peak_bytes) AS peak_bytes, peak_time_ns FROM report_memory WHERE space = 'device' AND (:rank IS NULL OR rank = :rank) GROUP BY rank, pid, device) m
       JOIN analysis_processes p ON p.pid = m.pid AND p.rank IS m.rank JOIN main.device d ON d.process_id = p.id AND d.ordinal = m.device
  WHERE d.memory_bytes > 0 AND d.kind = 'gpu' AND m.peak_bytes > 0.9 * d.memory_bytes
    AND NOT EXISTS (SELECT 1 FROM exhausted e WHERE e.pid IS m.pid AND e.rank IS m.rank AND e.device IS m.device))
SELECT 'The device ran out of memory' AS title, e.rank AS rank, e.pid AS pid,
       printf('%s; then %.2f GiB were live%s%s', e.what, allocated_bytes / 1073741824.0,
              iif(cached_bytes IS NULL, '', printf(', of %.2f GiB reserved from the driver; the other %.2f GiB were cached', reserved_bytes / 1073741824.0, cached_bytes / 1073741824.0)),
              iif(largest_free_bytes > 0, printf(', the largest free block %.1f MiB', largest_free_bytes / 1048576.0), '')) AS finding,
       NULL AS gain_ns, 'no time: it ended what the program was doing' AS arithmetic,
       printf('Free what was live then (plumb report memory_peak FILE --from %d --to %d): activation checkpointing, sharded optimizer state, a smaller batch with gradient accumulation.%s', e.time_ns, e.time_ns + 1,
              iif(cached_bytes >= asked_bytes, ' As much as was asked for was cached, but in pieces that did not serve: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.', '')) AS remedy,
       e.time_ns AS start_ns, e.time_ns AS end_ns, 'api_call ' || c.api_call_id AS evidence, NULL AS cannot_say
FROM exhausted e LEFT JOIN calls c ON c.pid IS e.pid AND c.rank IS e.rank AND c.time_ns = e.time_ns AND c.what = e.what
UNION ALL
SELECT 'The device ran out of memory', b.rank, b.pid, b.what || '; what was live then was not recorded', NULL, 'no time: it ended what the program was doing',
       'Activation checkpointing, sharded optimizer state, a smaller batch with gradient accumulation; or another program holds the memory.', b.time_ns, b.time_ns, 'api_call ' || c.api_call_id, NULL
FROM bare b LEFT JOIN calls c ON c.pid IS b.pid AND c.rank IS b.rank AND c.time_ns = b.time_ns AND c.what = b.what
UNION ALL
SELECT NULL, rank, pid,
       printf('the peak was %.2f GiB of %.2f GiB, %.1f %%', peak_bytes / 1073741824.0, memory_bytes / 1073741824.0, 100.0 * peak_bytes / memory_bytes),
       NULL, 'no time is lost yet', NULL, peak_time_ns, peak_time_ns,
       (SELECT 'allocation ' || a.id FROM main.allocation a
        WHERE a.process_id = n.process_id AND a.start_ns <= n.peak_time_ns ORDER BY a.start_ns DESC, a.id DESC LIMIT 1), NULL
FROM near n
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       iif(NOT EXISTS (SELECT 1 FROM main.allocation), 'no allocations were recorded',
           iif(EXISTS (SELECT 1 FROM main.device WHERE kind = 'software'), 'the software device has no memory of its own', 'no GPU says how much memory it has'))
WHERE NOT EXISTS (SELECT 1 FROM failed)
  AND (NOT EXISTS (SELECT 1 FROM main.allocation) OR NOT EXISTS (SELECT 1 FROM main.device WHERE memory_bytes > 0 AND kind = 'gpu'));
