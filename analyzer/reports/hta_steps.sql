-- SPDX-License-Identifier: Apache-2.0
-- Steps (HTA)
-- Which ProfilerSteps does HolisticTraceAnalysis keep?
-- no: by: the rows are those of HolisticTraceAnalysis, to compare with
-- empty: No range is called ProfilerStep#N, which is what HTA takes for a step.
-- rank: rank of the process; empty when the program set none
-- step: torch.profiler's number; with two or more the last is dropped. A process without any has no row
SELECT rank, step FROM hta_steps(:rank, :step, :range, :from_ns, :to_ns) ORDER BY rank IS NULL, rank, step;
