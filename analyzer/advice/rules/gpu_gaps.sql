-- SPDX-License-Identifier: Apache-2.0
-- The device starves
-- Gaps of more than 500 ms in which no stream of the device worked
-- needs: device work
-- threshold: a gap of 500 ms
-- remedy: See what the host did in the gap (`plumb report idle FILE --by gap`): loading data, writing a checkpoint,
--   compiling, waiting for another rank.
SELECT g.rank AS rank, g.pid AS pid,
       printf('device %d did nothing for %.6f ms between ''%s'' and ''%s''; cause: %s (%s)', g.device, g.idle_ns / 1e6, coalesce(g.work_before, 'its start'),
              coalesce(g.work_after, 'its end'), replace(g.cause, '_', ' '), g.evidence) AS finding,
       g.idle_ns AS gain_ns, 'the whole gap' AS arithmetic, g.start_ns AS start_ns, g.start_ns + g.idle_ns AS end_ns,
       coalesce(g.after_table || ' ' || g.after_id, g.before_table || ' ' || g.before_id) AS evidence, NULL AS cannot_say
FROM analysis_idle_gaps(:rank, :step, :range, :from_ns, :to_ns) g
WHERE g.idle_ns > 500000000 AND g.cause <> 'profiler_overhead'
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no work of a device was recorded' WHERE NOT EXISTS (SELECT 1 FROM analysis_breakdown);
