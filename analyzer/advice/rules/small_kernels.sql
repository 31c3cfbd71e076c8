-- SPDX-License-Identifier: Apache-2.0
-- Many small kernels
-- Kernels of less than 10 µs, at least 20 of them launched in ranges of one name, with gaps of less than 100 µs before them, in which they were queued already or about to be, of more than 10 % of the time that kernels and gaps take together; the three largest of each device
-- needs: device work
-- threshold: 20 of less than 10 µs in one place with gaps of 10 % of their time
-- remedy: Fuse them (torch.compile, Triton), capture the step in a CUDA graph, or give each more work (a larger batch).
-- remedy without torch: Fuse them, capture the step in a CUDA graph, or give each more work (a larger batch).
WITH small AS (
  SELECT *, row_number() OVER (PARTITION BY rank, pid, device ORDER BY gap_ns DESC) AS place
  FROM analysis_small_kernels(:rank, :step, :range, :from_ns, :to_ns) WHERE kernels >= 20 AND gap_ns > 0.1 * (gap_ns + kernel_ns))
SELECT rank, pid,
       printf('%d kernels of %.1f µs on average%s%s; before them device %d was idle for %.6f ms, %.1f %% of the time that they take with it, though their launch was made or being made',
              kernels, kernel_ns / 1e3 / kernels, coalesce(' in ''' || in_range || '''', ''), iif(from_graphs = kernels, ' (from CUDA graphs)', ''), device, gap_ns / 1e6,
              100.0 * gap_ns / (gap_ns + kernel_ns)) AS finding,
       gap_ns AS gain_ns, printf('the gaps before kernels that were queued or being launched closed: %.6f ms', gap_ns / 1e6) AS arithmetic,
       start_ns, end_ns, 'kernel ' || first_id || ', kernel ' || last_id AS evidence, in_range AS range, NULL AS cannot_say
FROM small WHERE place <= 3
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no API calls were recorded, so it is not known when kernels were queued'
WHERE NOT EXISTS (SELECT 1 FROM main.api_call);
