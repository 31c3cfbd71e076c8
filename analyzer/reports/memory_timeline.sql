-- SPDX-License-Identifier: Apache-2.0
-- Memory over time
-- How much memory was allocated and reserved, and of what category, over time?
-- by: samples, changes
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- device: CUDA ordinal; empty when it is not known
-- start_ns (ns): from then to the series' next row. By samples: of 1000 equal parts of the time the moment of the largest total; by changes: every change
-- series: allocated (handed out to the program), reserved (held from the driver; no rows when it is not known), or a category of what is allocated. Of a source whose allocation events have no addresses its own totals; allocated since the start when it tells only changes, so what was live before is missing
-- category_source: of a category: declared or inferred; empty for the others and for unattributed
-- bytes (bytes): live
SELECT rank, pid, device, start_ns, series, category_source, bytes
FROM analysis_memory_samples(:rank, :step, :range, :from_ns, :to_ns) WHERE coalesce(:by, 'samples') = 'samples'
UNION ALL
SELECT rank, pid, device, start_ns, series, category_source, bytes
FROM analysis_memory_changes(:rank, :step, :range, :from_ns, :to_ns) WHERE :by = 'changes'
UNION ALL
SELECT rank, pid, device, start_ns, series, NULL, bytes FROM (
  WITH total AS MATERIALIZED (
    SELECT p.rank, p.pid, CAST(substr(n.text, instr(n.text, ', device ') + 9) AS INTEGER) AS device, c.start_ns,
           CASE WHEN n.text GLOB 'torch reserved*' THEN 'reserved' WHEN n.text GLOB '*since*' THEN 'allocated since the start' ELSE 'allocated' END AS series,
           CAST(c.value AS INTEGER) AS bytes
    FROM host_window(:rank, :step, :range, :from_ns, :to_ns) w JOIN process p ON p.id = w.process_id
         JOIN main.counter_sample c ON c.process_id = w.process_id AND c.start_ns >= w.start_ns AND c.start_ns < w.end_ns
         JOIN main.string n ON n.id = c.name_id
    WHERE n.text GLOB 'torch * bytes*, device [0-9]*' AND EXISTS (SELECT 1 FROM main.diagnostic WHERE code = 'no_address')
      AND c.process_id NOT IN (SELECT process_id FROM main.allocation)),
  reach AS (SELECT min(start_ns) AS first, max(start_ns) - min(start_ns) + 1 AS length FROM total)
  SELECT rank, pid, device, start_ns, series, bytes, 'changes' AS wanted FROM total
  UNION ALL
  SELECT rank, pid, device, start_ns, series, max(bytes), 'samples' FROM total, reach
  GROUP BY rank, pid, device, series, 1000 * (start_ns - first) / length)
WHERE wanted = coalesce(:by, 'samples');
