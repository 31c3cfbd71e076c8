-- SPDX-License-Identifier: Apache-2.0
-- The launch queue is full
-- Launch calls that had to wait because 1024 or more launches were in the stream's queue
-- remedy: Nothing is wrong with the device: the host is far ahead. Do not measure its time as if it worked; a CUDA graph frees it.
SELECT rank,
       printf('launch calls waited %.2f ms for room in the queue (deepest: %d launches)', sum(blocked_ns) / 1e6, max(max_depth)) AS finding,
       NULL AS gain_ns, 'the device is busy meanwhile: no time to gain' AS arithmetic, NULL AS start_ns, NULL AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM report_launch(:rank, :step, :range, :from_ns, :to_ns, 'name') GROUP BY rank, pid HAVING sum(blocked_ns) > 1000000
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no API calls were recorded, so it is not known how deep the queue was'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call);
