-- SPDX-License-Identifier: Apache-2.0
-- Device memory is nearly full
-- A peak of more than 90 % of the devices memory: the next larger batch, or fragmentation, ends in out of memory
-- remedy: Activation checkpointing, sharded optimizer state, a smaller batch with gradient accumulation, or
--   PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.
SELECT m.rank AS rank,
       printf('the peak was %.2f GiB of %.2f GiB, %.1f %%', max(m.peak_bytes) / 1073741824.0, d.memory_bytes / 1073741824.0, 100.0 * max(m.peak_bytes) / d.memory_bytes) AS finding,
       NULL AS gain_ns, 'no time is lost yet' AS arithmetic, max(m.peak_time_ns) AS start_ns, max(m.peak_time_ns) AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM report_memory m JOIN processes p ON p.pid = m.pid JOIN devices d ON d.process_id = p.process_id AND d.ordinal = m.device
WHERE d.memory_bytes > 0 AND d.kind = 'gpu' AND (:rank IS NULL OR m.rank = :rank)
GROUP BY m.rank, m.pid, m.device HAVING max(m.peak_bytes) > 0.9 * d.memory_bytes
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no allocations were recorded, or no device says how much memory it has'
WHERE NOT EXISTS (SELECT 1 FROM main.allocation) OR NOT EXISTS (SELECT 1 FROM devices WHERE memory_bytes > 0 AND kind = 'gpu');
