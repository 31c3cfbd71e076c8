-- SPDX-License-Identifier: Apache-2.0
-- The device starves
-- Gaps of more than 500 ms in which no stream of the device worked
-- remedy: See what the host did in the gap (`plumb report idle FILE --by gap`): loading data, writing a checkpoint,
--   compiling, waiting for another rank.
SELECT rank,
       printf('device %d did nothing for %.1f ms between %s and %s; cause: %s', device, idle_ns / 1e6, coalesce(work_before, 'its start'),
              coalesce(work_after, 'its end'), cause) AS finding,
       idle_ns AS gain_ns, 'the whole gap' AS arithmetic, start_ns, start_ns + idle_ns AS end_ns, NULL AS evidence, NULL AS cannot_say
FROM report_idle(:rank, :step, :range, :from_ns, :to_ns, 'gap')
WHERE idle_ns > 500000000 AND cause <> 'profiler_overhead';
