-- SPDX-License-Identifier: Apache-2.0
-- Synchronous memory sets
-- cudaMemset, which blocks the host
-- needs: device work
-- remedy: Use cudaMemsetAsync on the stream that needs the memory.
WITH place AS (
  SELECT *, row_number() OVER (PARTITION BY rank, pid ORDER BY blocked_ns DESC) AS place
  FROM analysis_blocking_calls(:rank, :step, :range, :from_ns, :to_ns) WHERE kind = 'synchronous set'),
blocking AS (
  SELECT rank, pid, sum(calls) AS calls, iif(count(bytes) = count(*), sum(bytes), NULL) AS bytes, sum(blocked_ns) AS blocked_ns, sum(idle_ns) AS idle_ns, sum(copying_ns) AS copying_ns,
         min(start_ns) AS start_ns, max(end_ns) AS end_ns, min(first_id) AS first_id, max(last_id) AS last_id,
         max(iif(place = 1, in_range, NULL)) AS in_range, max(iif(place = 1, blocked_ns, 0)) AS most_ns
  FROM place GROUP BY rank, pid)
SELECT b.rank AS rank, b.pid AS pid,
       printf('%d synchronous memory set%s (%s) blocked the calling thread%s for %.6f ms, in %.6f ms of which the device did nothing and in %.6f ms nothing but this setting%s', b.calls, iif(b.calls = 1, '', 's'), CASE WHEN b.bytes IS NULL THEN 'of a size that was not recorded' WHEN b.bytes < 1024 THEN printf('%d B', b.bytes) WHEN b.bytes < 1048576 THEN printf('%.1f KiB', b.bytes / 1024.0) WHEN b.bytes < 1073741824 THEN printf('%.1f MiB', b.bytes / 1048576.0) ELSE printf('%.1f GiB', b.bytes / 1073741824.0) END, iif(b.calls = 1, '', 's'), b.blocked_ns / 1e6,
              b.idle_ns / 1e6, b.copying_ns / 1e6, iif(b.in_range IS NULL, '', printf('; most of it in ''%s'': %.6f ms', b.in_range, b.most_ns / 1e6))) AS finding,
       b.idle_ns AS gain_ns, printf('the device''s idle time inside the calls: %.6f ms; what it only copies is counted in Copies that nothing covers', b.idle_ns / 1e6) AS arithmetic,
       b.start_ns AS start_ns, b.end_ns AS end_ns, 'memory_set ' || b.first_id || iif(b.last_id > b.first_id, ', memory_set ' || b.last_id, '') AS evidence, b.in_range AS range, NULL AS cannot_say
FROM blocking b
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'no memory sets were recorded' WHERE NOT EXISTS (SELECT 1 FROM main.memory_set);
