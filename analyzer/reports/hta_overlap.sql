-- SPDX-License-Identifier: Apache-2.0
-- Overlap (HTA)
-- How much of the communication ran while computation ran, as HolisticTraceAnalysis counts it?
-- rank: rank of the process; empty when the program set none
-- comp_comm_overlap_pctg (%): of the union of communication kernels; empty: no communication
SELECT * FROM hta_overlap(:rank);
