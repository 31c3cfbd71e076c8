-- SPDX-License-Identifier: Apache-2.0
-- Kernel types (HTA)
-- How much time went to each type of GPU work, over all ranks, as HolisticTraceAnalysis counts it?
-- kernel_type: COMPUTATION, COMMUNICATION, MEMORY and which ran at once
-- sum_us (us): time
-- percentage (%): of the sum of all types
SELECT * FROM hta_kernel_types(:rank);
