-- SPDX-License-Identifier: Apache-2.0
-- What must hold on a recording of the lesson "faults" with all experiments: rows (check_name, passed, detail).
-- Parameters: :ranks, :steps, :tiny. The last rank is the culprit.
WITH
  experiment AS (
    SELECT process_id, rank, name, start_ns, start_ns + duration_ns AS end_ns FROM ranges
    WHERE name IN ('slow rank', 'late rank', 'skewed inputs', 'tiny collectives', 'one bucket')),
  reduced AS (
    SELECT e.name, c.rank, c.communicator, c.sequence, c.bytes, c.device_start_ns, c.device_duration_ns
    FROM experiment e JOIN collectives c ON c.process_id = e.process_id AND c.start_ns >= e.start_ns AND c.start_ns < e.end_ns
    WHERE c.operation = 'AllReduce'),
  arrived AS (
    SELECT *, device_start_ns - min(device_start_ns) OVER (PARTITION BY name, sequence) AS late_ns,
           device_start_ns = max(device_start_ns) OVER (PARTITION BY name, sequence) AS is_last
    FROM reduced WHERE name IN ('slow rank', 'late rank', 'skewed inputs')),
  culprit AS (
    SELECT name, avg(is_last) AS share, avg(late_ns) AS late_ns, count(*) AS n FROM arrived WHERE rank = :ranks - 1 GROUP BY name),
  loading AS (
    SELECT r.rank, avg(r.duration_ns) AS ns FROM experiment e JOIN ranges r ON r.process_id = e.process_id
      AND r.start_ns >= e.start_ns AND r.start_ns < e.end_ns
    WHERE e.name = 'late rank' AND r.name = 'dataloader' GROUP BY r.rank),
  computed AS (
    SELECT e.name, e.rank, sum(k.duration_ns) AS ns
    FROM experiment e JOIN ranges r ON r.process_id = e.process_id AND r.name = 'compute' AND r.start_ns >= e.start_ns AND r.start_ns < e.end_ns
         JOIN api_calls a ON a.process_id = r.process_id AND a.thread_id = r.thread_id AND a.start_ns >= r.start_ns
           AND a.start_ns < r.start_ns + r.duration_ns
         JOIN kernels k ON k.process_id = a.process_id AND k.correlation = a.correlation
    GROUP BY e.name, e.rank)
SELECT 'every rank made every experiment' AS check_name,
       count(DISTINCT rank || name) = 5 * :ranks AS passed, count(*) AS detail FROM experiment
UNION ALL
SELECT 'one all-reduce a step and rank, each with its kernel', count(*) = 3 * :ranks * :steps AND count(*) = count(device_start_ns), count(*)
FROM arrived
UNION ALL
SELECT name || ': the last rank arrives last', share > 0.5 AND n = :steps, round(100 * share) || ' %' FROM culprit
UNION ALL
SELECT name || ': it is late by (ms)', late_ns > 0, round(late_ns / 1e6, 2) FROM culprit
UNION ALL
SELECT name || ': it waits less than the first rank',
       sum(CASE WHEN rank = :ranks - 1 THEN device_duration_ns ELSE 0 END) < sum(CASE WHEN rank = 0 THEN device_duration_ns ELSE 0 END), NULL
FROM arrived GROUP BY name
UNION ALL
SELECT 'slow rank: the compute is why', (SELECT ns FROM computed WHERE name = 'slow rank' AND rank = :ranks - 1)
         > 2 * (SELECT ns FROM computed WHERE name = 'slow rank' AND rank = 0), NULL
UNION ALL
SELECT 'late rank: the data loader is why', (SELECT ns FROM loading WHERE rank = :ranks - 1) > 2 * (SELECT ns FROM loading WHERE rank = 0),
       (SELECT round(ns / 1e6, 1) FROM loading WHERE rank = :ranks - 1) || ' ms of loading'
UNION ALL
SELECT 'late rank: it is late by the loading', late_ns > 0.5 * (SELECT ns FROM loading WHERE rank = :ranks - 1), round(late_ns / 1e6, 1)
FROM culprit WHERE name = 'late rank'
UNION ALL
SELECT 'skewed inputs: the last rank computes more', (SELECT ns FROM computed WHERE name = 'skewed inputs' AND rank = :ranks - 1)
         > 1.5 * (SELECT ns FROM computed WHERE name = 'skewed inputs' AND rank = 0), NULL
UNION ALL
SELECT 'tiny collectives: as many as were asked for', (SELECT count(*) FROM reduced WHERE name = 'tiny collectives') = :ranks * :steps * :tiny,
       (SELECT count(*) FROM reduced WHERE name = 'tiny collectives')
UNION ALL
SELECT 'the bucket moves the same bytes at once', count(*) = :ranks * :steps
         AND sum(bytes) = (SELECT sum(bytes) FROM reduced WHERE name = 'tiny collectives'), sum(bytes)
FROM reduced WHERE name = 'one bucket'
UNION ALL
SELECT 'nothing was lost', count(*) = 0, group_concat(message, ' | ') FROM diagnostics WHERE severity = 'error';
