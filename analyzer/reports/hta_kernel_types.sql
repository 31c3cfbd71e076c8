-- SPDX-License-Identifier: Apache-2.0
-- Kernel types (HTA)
-- How much time went to each type of GPU work, over all ranks, as HolisticTraceAnalysis counts it?
-- no: by: the rows are those of HolisticTraceAnalysis, to compare with; the report kernel_types has groupings
-- kernel_type: COMPUTATION, COMMUNICATION, MEMORY and which ran at once
-- sum_us (us): time
-- percentage (%): of the sum of all types
SELECT * FROM hta_kernel_types(:rank, :step, :range, :from_ns, :to_ns);
