-- SPDX-License-Identifier: Apache-2.0
-- What can be said only when every event is in the file. Run once by the importer, before anybody can see the file, with
-- all indexes in place: each statement but those over api_call costs what it finds, not what the file holds.

-- The same work twice. Without a length two equal rows can be two kernels, as the clock of old traces is coarse.
CREATE TEMP TABLE repeated(kind TEXT, id INTEGER, process_id INTEGER);
CREATE TEMP TABLE crowded AS
SELECT process_id, correlation FROM kernel GROUP BY process_id, correlation HAVING count(*) > 1 AND correlation <> 0;
INSERT INTO repeated SELECT 'kernel', id, process_id FROM (
  SELECT k.id, k.process_id, row_number() OVER (
    PARTITION BY k.process_id, k.stream_id, k.start_ns, k.duration_ns, k.name_id, k.correlation, k.grid_x, k.grid_y,
      k.grid_z, k.block_x, k.block_y, k.block_z, k.registers_per_thread, k.static_shared_bytes, k.dynamic_shared_bytes,
      k.graph_id, k.graph_node_id ORDER BY k.id) AS nth
  FROM crowded c CROSS JOIN kernel k ON k.process_id = c.process_id AND k.correlation = c.correlation
  WHERE k.duration_ns > 0) WHERE nth > 1;
DELETE FROM crowded;
INSERT INTO crowded
SELECT process_id, correlation FROM memory_copy GROUP BY process_id, correlation HAVING count(*) > 1 AND correlation <> 0;
INSERT INTO repeated SELECT 'copy', id, process_id FROM (
  SELECT m.id, m.process_id, row_number() OVER (
    PARTITION BY m.process_id, m.stream_id, m.start_ns, m.duration_ns, m.bytes, m.copy_kind, m.source_kind, m.target_kind,
      m.correlation ORDER BY m.id) AS nth
  FROM crowded c CROSS JOIN memory_copy m ON m.process_id = c.process_id AND m.correlation = c.correlation
  WHERE m.duration_ns > 0) WHERE nth > 1;
DELETE FROM crowded;
INSERT INTO crowded
SELECT process_id, correlation FROM memory_set GROUP BY process_id, correlation HAVING count(*) > 1 AND correlation <> 0;
INSERT INTO repeated SELECT 'set', id, process_id FROM (
  SELECT m.id, m.process_id, row_number() OVER (
    PARTITION BY m.process_id, m.stream_id, m.start_ns, m.duration_ns, m.bytes, m.memory_kind, m.correlation ORDER BY m.id) AS nth
  FROM crowded c CROSS JOIN memory_set m ON m.process_id = c.process_id AND m.correlation = c.correlation
  WHERE m.duration_ns > 0) WHERE nth > 1;
DELETE FROM crowded;
INSERT INTO crowded
SELECT process_id, correlation FROM api_call GROUP BY process_id, correlation HAVING count(*) > 1 AND correlation <> 0;
INSERT INTO repeated SELECT 'call', id, process_id FROM (
  SELECT a.id, a.process_id, row_number() OVER (
    PARTITION BY a.process_id, a.thread_id, a.start_ns, a.duration_ns, a.name_id, a.layer, a.correlation, a.result ORDER BY a.id) AS nth
  FROM crowded c CROSS JOIN api_call a ON a.process_id = c.process_id AND a.correlation = c.correlation
  WHERE a.duration_ns > 0) WHERE nth > 1;
-- Nothing numbers ranges: equal ones are the same one only in a source that holds other events twice.
INSERT INTO repeated SELECT 'range', id, process_id FROM (
  SELECT r.id, r.process_id, row_number() OVER (
    PARTITION BY r.thread_id, r.start_ns, r.duration_ns, r.name_id, r.domain_id, r.kind, (
      SELECT group_concat(p.name_id || ' ' || quote(p.value)) FROM range_payload p WHERE p.range_id = r.id) ORDER BY r.id) AS nth
  FROM (SELECT process_id FROM repeated UNION SELECT process_id FROM diagnostic WHERE code = 'duplicate_event') p
       CROSS JOIN range r ON r.process_id = p.process_id
  WHERE r.duration_ns > 0) WHERE nth > 1;
DELETE FROM api_call WHERE id IN (SELECT id FROM repeated WHERE kind = 'call');
DELETE FROM range WHERE id IN (SELECT id FROM repeated WHERE kind = 'range');
DELETE FROM range_payload WHERE range_id IN (SELECT id FROM repeated WHERE kind = 'range');
DELETE FROM kernel WHERE id IN (SELECT id FROM repeated WHERE kind = 'kernel');
DELETE FROM memory_copy WHERE id IN (SELECT id FROM repeated WHERE kind = 'copy');
DELETE FROM memory_set WHERE id IN (SELECT id FROM repeated WHERE kind = 'set');
DELETE FROM memory_copy_bandwidth WHERE memory_copy_id IN (SELECT id FROM repeated WHERE kind = 'copy');
DELETE FROM memory_set_bandwidth WHERE memory_set_id IN (SELECT id FROM repeated WHERE kind = 'set');
INSERT INTO diagnostic(process_id, start_ns, severity, lane, code, count, message)
SELECT process_id, 0, 'warning', 'import', 'duplicate_event', count(*),
       count(*) || CASE WHEN kind IN ('call', 'range') THEN ' API calls and ranges' ELSE ' GPU events' END
       || ' came twice, equal in everything; they are stored once.'
FROM repeated GROUP BY process_id, kind IN ('call', 'range');

-- The host's side of a collective that only its kernel tells of is the call that launched that; without one, the
-- kernel's start stands for it.
CREATE TEMP TABLE of_kernel AS SELECT id FROM collective WHERE thread_id = 0;
CREATE TEMP TABLE launch AS
SELECT c.id AS collective_id, min(a.id) AS api_id
FROM of_kernel o CROSS JOIN collective c ON c.id = o.id
     CROSS JOIN correlation_link l ON l.process_id = c.process_id AND l.external_id = c.external_id
     CROSS JOIN api_call a ON a.process_id = l.process_id AND a.correlation = l.correlation
WHERE l.correlation <> 0 GROUP BY c.id;
UPDATE collective SET start_ns = a.start_ns, duration_ns = a.duration_ns, thread_id = a.thread_id
FROM launch h CROSS JOIN api_call a ON a.id = h.api_id WHERE h.collective_id = collective.id;
-- Its operators may have told of it without an "External id" that leads to the kernel: they are those of the same number in
-- the communicator (several where one kernel carries a group of them), else the one inside which the kernel was launched.
CREATE TEMP TABLE unlinked AS
SELECT c.process_id, c.thread_id, c.start_ns, c.start_ns + c.duration_ns AS end_ns, c.operation_id, c.communicator_id, c.sequence,
       c.bytes, c.external_id AS link
FROM collective_detail d CROSS JOIN collective c ON c.id = d.collective_id
WHERE EXISTS (SELECT 1 FROM of_kernel) AND d.operator_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM correlation_link l WHERE l.process_id = c.process_id AND l.external_id = c.external_id);
CREATE INDEX temp.unlinked_by_time ON unlinked(process_id, thread_id, start_ns);
CREATE INDEX temp.unlinked_by_number ON unlinked(process_id, communicator_id, sequence);
CREATE TEMP TABLE twin AS
SELECT c.id, c.process_id, c.external_id AS link, u.link AS operator_link
FROM of_kernel o CROSS JOIN collective c ON c.id = o.id
     CROSS JOIN unlinked u ON u.process_id = c.process_id AND u.communicator_id = c.communicator_id AND u.sequence = c.sequence
WHERE c.sequence >= 0 AND u.operation_id = c.operation_id;
INSERT INTO twin
SELECT c.id, c.process_id, c.external_id, u.link
FROM launch h CROSS JOIN api_call a ON a.id = h.api_id CROSS JOIN collective c ON c.id = h.collective_id
     CROSS JOIN unlinked u ON u.rowid = (
       SELECT o.rowid FROM unlinked o WHERE o.process_id = a.process_id AND o.thread_id = a.thread_id AND o.start_ns <= a.start_ns
       ORDER BY o.start_ns DESC LIMIT 1)
WHERE u.end_ns >= a.start_ns + a.duration_ns AND u.operation_id = c.operation_id AND u.communicator_id IS c.communicator_id
  AND u.bytes = c.bytes AND c.id NOT IN (SELECT id FROM twin);
INSERT INTO correlation_link(process_id, external_id, correlation)
SELECT t.process_id, t.operator_link, l.correlation
FROM twin t CROSS JOIN correlation_link l ON l.process_id = t.process_id AND l.external_id = t.link;
DELETE FROM correlation_link WHERE (process_id, external_id) IN (SELECT process_id, link FROM twin);
DELETE FROM collective_detail WHERE collective_id IN (SELECT id FROM twin);
DELETE FROM collective WHERE id IN (SELECT id FROM twin);
UPDATE collective SET thread_id = coalesce((SELECT min(id) FROM thread t WHERE t.process_id = collective.process_id), 0)
WHERE thread_id = 0;

-- A collective is not linked to a correlation id that other work shares with its kernel (one launch of a graph): that
-- work is no communication.
CREATE TEMP TABLE collective_link AS
SELECT l.rowid AS link, l.process_id, l.correlation FROM correlation_link l
WHERE l.external_id IN (SELECT external_id FROM collective);
CREATE TEMP TABLE communication_name AS
SELECT id FROM string WHERE EXISTS (SELECT 1 FROM collective_link)
  AND EXISTS (SELECT 1 FROM communication_part WHERE instr(lower(text), part) > 0);
CREATE UNIQUE INDEX temp.communication_name_id ON communication_name(id);
CREATE TEMP TABLE misleading AS
SELECT l.link, l.process_id FROM collective_link l CROSS JOIN kernel k ON k.process_id = l.process_id AND k.correlation = l.correlation
WHERE k.name_id NOT IN (SELECT id FROM communication_name)
UNION SELECT l.link, l.process_id FROM collective_link l CROSS JOIN memory_copy m ON m.process_id = l.process_id AND m.correlation = l.correlation
WHERE m.copy_kind NOT IN (8, 10)  -- between devices, without a kernel: a collective of the copy engines
   OR EXISTS (SELECT 1 FROM kernel k WHERE k.process_id = m.process_id AND k.correlation = m.correlation)
UNION SELECT l.link, l.process_id FROM collective_link l CROSS JOIN memory_set m ON m.process_id = l.process_id AND m.correlation = l.correlation;
DELETE FROM correlation_link WHERE rowid IN (SELECT link FROM misleading);
INSERT INTO diagnostic(process_id, start_ns, severity, lane, code, count, message)
SELECT process_id, 0, 'warning', 'import', 'collectives_not_linked', count(*),
       count(*) || ' collectives are not linked to their kernels, because those share their correlation id with other '
       || 'work; that these kernels are communication is told by their names.'
FROM misleading GROUP BY process_id;

-- Where records tell of some collectives only, the other communication kernels are told by name; chrome_collectives.cpp
-- has said so of its processes.
CREATE TEMP TABLE linked AS SELECT process_id, correlation FROM collective_link WHERE link NOT IN (SELECT link FROM misleading);
CREATE INDEX temp.linked_by ON linked(process_id, correlation);
INSERT INTO diagnostic(process_id, start_ns, severity, lane, code, count, message)
SELECT k.process_id, 0, 'info', 'import', 'communication_by_name', count(*),
       count(*) || ' communication kernels have no record of their collective and are told by name.'
FROM kernel k WHERE EXISTS (SELECT 1 FROM linked) AND k.name_id IN (SELECT id FROM communication_name)
  AND k.process_id IN (SELECT process_id FROM linked)
  AND k.process_id NOT IN (SELECT process_id FROM diagnostic WHERE code = 'communication_by_name' AND process_id IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM linked l WHERE l.process_id = k.process_id AND l.correlation = k.correlation)
GROUP BY k.process_id;

-- Event flag 2: launched from a graph.
CREATE TEMP TABLE graph_launch AS SELECT DISTINCT process_id, correlation FROM api_call
WHERE name_id IN (SELECT id FROM string WHERE text GLOB '*GraphLaunch*') AND correlation <> 0;
UPDATE kernel SET flags = flags | 2 WHERE id IN (SELECT k.id FROM graph_launch g
  CROSS JOIN kernel k ON k.process_id = g.process_id AND k.correlation = g.correlation);
UPDATE memory_copy SET flags = flags | 2 WHERE id IN (SELECT m.id FROM graph_launch g
  CROSS JOIN memory_copy m ON m.process_id = g.process_id AND m.correlation = g.correlation);
UPDATE memory_set SET flags = flags | 2 WHERE id IN (SELECT m.id FROM graph_launch g
  CROSS JOIN memory_set m ON m.process_id = g.process_id AND m.correlation = g.correlation);

CREATE TEMP TABLE blocking_call AS SELECT DISTINCT process_id, correlation FROM api_call
WHERE name_id IN (SELECT id FROM string WHERE (text GLOB '*Memcpy*' OR text GLOB '*Memset*') AND text NOT GLOB '*Async*')
  AND correlation <> 0;
UPDATE memory_copy SET is_async = 0 WHERE id IN (SELECT m.id FROM blocking_call b
  CROSS JOIN memory_copy m ON m.process_id = b.process_id AND m.correlation = b.correlation);
UPDATE memory_set SET is_async = 0 WHERE id IN (SELECT m.id FROM blocking_call b
  CROSS JOIN memory_set m ON m.process_id = b.process_id AND m.correlation = b.correlation);
