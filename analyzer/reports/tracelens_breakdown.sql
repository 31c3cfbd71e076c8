-- SPDX-License-Identifier: Apache-2.0
-- GPU timeline (TraceLens)
-- Where did each rank's GPU time go, as TraceLens counts it?
-- no: by: the rows are those of TraceLens, to compare with; the report breakdown has groupings
-- rank: rank of the process; empty when the program set none
-- type: computation_time, exposed_comm_time, exposed_memcpy_time, busy_time, idle_time, total_time, total_comm_time or total_memcpy_time. GPU work without a launch in the trace is dropped; a memory set is computation on CUDA and dropped on ROCm
-- time_ms (ms): time
-- percent (%): of total_time
SELECT * FROM tracelens_gpu_timeline(:rank, :step, :range, :from_ns, :to_ns);
