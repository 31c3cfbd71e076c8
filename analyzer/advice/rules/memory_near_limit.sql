-- SPDX-License-Identifier: Apache-2.0
-- Device memory is nearly full
-- A peak of more than 90 % of the device's memory: the next larger batch, or fragmentation, ends in out of memory
-- threshold: 90 % of the device's memory
-- remedy: Activation checkpointing, sharded optimizer state, a smaller batch with gradient accumulation, or
--   PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.
SELECT m.rank AS rank, m.pid AS pid,
       printf('the peak was %.2f GiB of %.2f GiB, %.1f %%', m.peak_bytes / 1073741824.0, d.memory_bytes / 1073741824.0, 100.0 * m.peak_bytes / d.memory_bytes) AS finding,
       NULL AS gain_ns, 'no time is lost yet' AS arithmetic, m.peak_time_ns AS start_ns, m.peak_time_ns AS end_ns,
       (SELECT 'allocation ' || a.id FROM main.allocation a
        WHERE a.process_id = p.id AND a.start_ns <= m.peak_time_ns ORDER BY a.start_ns DESC, a.id DESC LIMIT 1) AS evidence, NULL AS cannot_say
FROM (SELECT rank, pid, device, max(peak_bytes) AS peak_bytes, peak_time_ns FROM report_memory WHERE space = 'device' AND (:rank IS NULL OR rank = :rank) GROUP BY rank, pid, device) m
     JOIN main.process p ON p.pid = m.pid AND p.rank IS m.rank JOIN main.device d ON d.process_id = p.id AND d.ordinal = m.device
WHERE d.memory_bytes > 0 AND d.kind = 'gpu' AND m.peak_bytes > 0.9 * d.memory_bytes
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       iif(NOT EXISTS (SELECT 1 FROM main.allocation), 'no allocations were recorded',
           iif(EXISTS (SELECT 1 FROM main.device WHERE kind = 'software'), 'the software device has no memory of its own', 'no GPU says how much memory it has'))
WHERE NOT EXISTS (SELECT 1 FROM main.allocation) OR NOT EXISTS (SELECT 1 FROM main.device WHERE memory_bytes > 0 AND kind = 'gpu');
