-- SPDX-License-Identifier: Apache-2.0
-- Memory by hand
-- How much memory should the model's state take, and how much was measured at the peak?
-- no: by: its rows are the terms of one sum
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal; empty when it is not known
-- parameters: P, of this rank: bytes of parameter regions that live through all steps / 4 (float32)
-- sharded_over: ranks that the model is sharded over (of the reduce-scatters' communicator, else of the run), where the names of its parameters say 'shard'; P is the rank's part of it
-- component: what is calculated
-- formula: float32 training takes P x (4 + 4 + 4 k) bytes, k = 0 (SGD), 1 (momentum), 2 (AdamW), the nearest to the measured; mixed precision with a float32 master copy 16 P; where the model is sharded + the bytes of layers that are whole in flight during a backward pass: the gradients of the largest layer and of the root (the last that is reduced), the weights of the root and of two layers (in use, prefetched), or of all when none is gathered again. Whole gradients kept over micro steps are not in it. Empty: depends on the model's shape
-- expected_bytes (bytes): by the formula; empty where a term is not known
-- measured_bytes (bytes): declared, live at the peak
-- difference_bytes (bytes): measured - expected
-- difference_pct (%): of expected
-- note: what the bytes in the formula are, or why nothing is expected
SELECT rank, pid, device, parameters, sharded_over, component, formula, expected_bytes, measured_bytes,
       measured_bytes - expected_bytes AS difference_bytes,
       100.0 * (measured_bytes - expected_bytes) / nullif(expected_bytes, 0) AS difference_pct, note
FROM analysis_hand_calculation(:rank, :step, :range, :from_ns, :to_ns);
