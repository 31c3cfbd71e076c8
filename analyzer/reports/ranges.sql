-- SPDX-License-Identifier: Apache-2.0
-- NVTX ranges
-- How long did each named range take on the host?
-- rank: rank of the process; empty when the program set none
-- pid: process id
-- domain: NVTX domain; empty: the default one
-- name: range
-- calls: how many ended
-- open: how many were still open when the recording ended; they have no duration and count in nothing else
-- total_ns (ns): sum of the durations on the host; nested ranges count in both
-- avg_ns (ns): mean duration
-- median_ns (ns): median duration
-- min_ns (ns): shortest
-- max_ns (ns): longest
-- stddev_ns (ns): sample standard deviation of the durations; empty for one range
-- share_pct (%): of the range time of this process, nested ranges counted each
WITH grouped AS (
  SELECT process_id, domain_id, name_id, count(duration_ns) AS calls, count(*) - count(duration_ns) AS open,
         sum(duration_ns) AS total_ns, avg(duration_ns) AS avg_ns, median(duration_ns) AS median_ns,
         min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, stddev(duration_ns) AS stddev_ns
  FROM range WHERE kind <> 'mark' GROUP BY process_id, domain_id, name_id)
SELECT p.rank, p.pid, d.text AS domain, s.text AS name, calls, open, total_ns, avg_ns, median_ns, min_ns, max_ns, stddev_ns,
       100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY process_id), 0) AS share_pct
FROM grouped g JOIN process p ON p.id = g.process_id JOIN string s ON s.id = g.name_id JOIN string d ON d.id = g.domain_id
WHERE :rank IS NULL OR p.rank = :rank
ORDER BY p.rank IS NULL, p.rank, p.id, total_ns DESC, name;
