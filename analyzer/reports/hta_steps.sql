-- SPDX-License-Identifier: Apache-2.0
-- Steps (HTA)
-- Which ProfilerSteps does HolisticTraceAnalysis keep?
-- no: by: the rows are those of HolisticTraceAnalysis, to compare with
-- rank: rank of the process; empty when the program set none
-- step: torch.profiler's number; with two or more the last is dropped; empty: the process has none
SELECT p.rank, s.step FROM process p LEFT JOIN hta_steps(:rank, :step, :range, :from_ns, :to_ns) s ON s.rank IS p.rank
WHERE :rank IS NULL OR p.rank = :rank
ORDER BY p.rank IS NULL, p.rank, s.step;
