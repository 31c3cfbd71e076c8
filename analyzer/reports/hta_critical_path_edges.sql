-- SPDX-License-Identifier: Apache-2.0
-- Edges of the critical path of a rank (HTA)
-- Which events make up the longest chain, as HolisticTraceAnalysis counts it? Filters as in hta_critical_path
-- rank: rank of the process; empty when the program set none
-- position: from the path's start
-- type: critical_path_operator, critical_path_dependency, critical_path_kernel_launch_delay, critical_path_kernel_kernel_delay or critical_path_sync_dependency, HTA's
-- duration_us (us): weight; 0 where the edge is only an order. Below 0 where an operator outlasts the one around it, which counts as 0 in the search
-- name: of the event whose time it is; empty for delays of launches and for orders
-- bound_by: as in hta_critical_path; empty for orders
SELECT * FROM hta_critical_path_edges(:rank, :step, :range);
