-- SPDX-License-Identifier: Apache-2.0
-- Idle time per stream (HTA)
-- Why did each stream wait, as HolisticTraceAnalysis counts it?
-- no: by: the rows are those of HolisticTraceAnalysis, to compare with; the report idle has groupings
-- rank: rank of the process; empty when the program set none
-- stream: CUPTI's stream id
-- idle_category: host_wait (launched after the previous work ended), kernel_wait (gap below 30 us), other
-- idle_time_us (us): sum of the gaps between one row's end and the next one's start, which can be negative
-- idle_time_ratio: of the stream's; empty when that is 0
SELECT * FROM hta_idle_time(:rank, :step, :range, :from_ns, :to_ns);
