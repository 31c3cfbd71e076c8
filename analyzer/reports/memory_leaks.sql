-- SPDX-License-Identifier: Apache-2.0
-- Memory that grows
-- Which memory grows from step to step or outlives its like?
-- by: name, step
-- empty: No memory grew from one step to the next or outlived its like; without steps to compare nothing can be said of that (report steps).
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal; empty when it is not known
-- step: by step: its number
-- name: by name: declared by the program, else the place in its code that allocated it, else the size; those whose live bytes changed, or that have survivors
-- category: by name: declared; empty when it was not
-- live_bytes (bytes): at the end of the step; by name of the last step
-- growth_bytes (bytes): since the end of the step before; by name since the end of the first step
-- growth_bytes_per_step (bytes): by name: growth / steps after the first
-- grew: by name: after how many steps more was live than after the one before
-- steps: by name: of how many steps that is
-- survivors: by name: allocations since the first step that were live at the end of the last, more than 2 steps older than the median life of their freed like
-- survivor_bytes (bytes): by name: of those
-- finding: by name: 'grows' (more live after at least 4 of 5 steps), 'outlives its like' (survivors), 'changed once'; else empty
SELECT rank, pid, device, NULL AS step, name, category, last_bytes AS live_bytes, growth_bytes, growth_bytes_per_step, grew, steps,
       survivors, survivor_bytes,
       CASE WHEN growth_bytes > 0 AND steps >= 3 AND grew * 5 >= steps * 4 THEN 'grows' WHEN survivors > 0 THEN 'outlives its like'
            WHEN growth_bytes <> 0 THEN 'changed once' END AS finding
FROM analysis_memory_growth(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'name') = 'name'
UNION ALL
SELECT rank, pid, device, step, NULL, NULL, live_bytes, growth_bytes, NULL, NULL, NULL, NULL, NULL, NULL
FROM analysis_memory_steps(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'step';
