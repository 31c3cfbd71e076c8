-- SPDX-License-Identifier: Apache-2.0
-- CUDA graphs
-- How often was each graph launched, what ran in it, and how long did it take?
-- no: by: it has one row per graph
-- empty: No kernel, copy or set ran in a CUDA graph.
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- graph: id of the executable graph; empty when the trace does not tell graphs apart
-- launches: launches with work in the trace
-- whole_launches: of these, known by one record of the whole graph instead of its nodes
-- nodes: different nodes that ran; empty when not told
-- kernels: kernels that ran in it
-- copies: copies that ran in it
-- sets: memory sets that ran in it
-- total_ns (ns): sum of the nodes' durations; of a whole launch its own duration; never both
-- span_ns (ns): sum over the launches of first start to last end
-- span_avg_ns (ns): mean of a launch
-- span_median_ns (ns): median
-- span_min_ns (ns): shortest
-- span_max_ns (ns): longest
-- api_ns (ns): sum of the launch calls' durations; empty when they are not in the trace
-- api_avg_ns (ns): mean
SELECT rank, pid, graph, launches, whole_launches, nodes, kernels, copies, sets, total_ns, span_ns, span_avg_ns, span_median_ns,
       span_min_ns, span_max_ns, api_ns, api_avg_ns
FROM analysis_graphs(:rank, :step, :range, :from_ns, :to_ns);
