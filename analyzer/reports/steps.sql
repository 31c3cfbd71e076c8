-- SPDX-License-Identifier: Apache-2.0
-- Steps
-- How long did each training step take, and where did its time go?
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- step: counts from 0 within its process
-- warmup: 1: differs from the steady steps, left out of the summary's medians
-- host_ns (ns): duration of the declared range on the host
-- start_ns (ns): first start of the GPU work launched in the step
-- span_ns (ns): from there to its last end; empty: no GPU work is known to have been launched in it
-- busy_ns (ns): union of all GPU work in the span
-- compute_ns (ns): union of the kernels that are not communication
-- communication_ns (ns): union of the communication kernels
-- exposed_communication_ns (ns): communication without compute at the same time
-- exposed_memory_ns (ns): copies and sets without compute or communication at the same time
-- idle_ns (ns): span - busy
SELECT rank, pid, step, warmup, host_ns, start_ns, span_ns, busy_ns, compute_ns, communication_ns, exposed_communication_ns,
       exposed_memory_ns, idle_ns
FROM analysis_steps WHERE :rank IS NULL OR rank = :rank;
