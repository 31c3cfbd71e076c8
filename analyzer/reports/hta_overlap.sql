-- SPDX-License-Identifier: Apache-2.0
-- Overlap (HTA)
-- How much of the communication ran while computation ran, as HolisticTraceAnalysis counts it?
-- no: by: the rows are those of HolisticTraceAnalysis, to compare with; the report overlap has groupings
-- rank: rank of the process; empty when the program set none
-- comp_comm_overlap_pctg (%): of the union of communication kernels; empty: no communication
SELECT * FROM hta_overlap(:rank, :step, :range, :from_ns, :to_ns);
