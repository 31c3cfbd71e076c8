-- SPDX-License-Identifier: Apache-2.0
-- What can be said only when every event is in the file. Run once by the importer, before anybody can see the file.
-- temp.shift(process_id, delta): from the origin of the process' source file to that of all.

UPDATE kernel SET start_ns = start_ns + (SELECT delta FROM temp.shift s WHERE s.process_id = kernel.process_id);
UPDATE memory_copy SET start_ns = start_ns + (SELECT delta FROM temp.shift s WHERE s.process_id = memory_copy.process_id);
UPDATE memory_set SET start_ns = start_ns + (SELECT delta FROM temp.shift s WHERE s.process_id = memory_set.process_id);
UPDATE api_call SET start_ns = start_ns + (SELECT delta FROM temp.shift s WHERE s.process_id = api_call.process_id);
UPDATE synchronization SET start_ns = start_ns + (SELECT delta FROM temp.shift s WHERE s.process_id = synchronization.process_id);
UPDATE range SET start_ns = start_ns + (SELECT delta FROM temp.shift s WHERE s.process_id = range.process_id);
UPDATE collective SET start_ns = start_ns + (SELECT delta FROM temp.shift s WHERE s.process_id = collective.process_id);
UPDATE counter_sample SET start_ns = start_ns + (SELECT delta FROM temp.shift s WHERE s.process_id = counter_sample.process_id);
UPDATE process SET start_ns = start_ns + (SELECT delta FROM temp.shift s WHERE s.process_id = process.id),
                   end_ns = end_ns + (SELECT delta FROM temp.shift s WHERE s.process_id = process.id);

-- The same work twice. Without a length two equal rows can be two kernels, as the clock of old traces is coarse.
CREATE TEMP TABLE repeated(kind TEXT, id INTEGER, process_id INTEGER);
INSERT INTO repeated SELECT 'kernel', id, process_id FROM (
  SELECT id, process_id, row_number() OVER (PARTITION BY process_id, stream_id, start_ns, duration_ns, name_id, correlation ORDER BY id) AS nth
  FROM kernel WHERE duration_ns > 0 AND correlation <> 0) WHERE nth > 1;
INSERT INTO repeated SELECT 'copy', id, process_id FROM (
  SELECT id, process_id, row_number() OVER (PARTITION BY process_id, stream_id, start_ns, duration_ns, bytes, copy_kind, correlation ORDER BY id) AS nth
  FROM memory_copy WHERE duration_ns > 0 AND correlation <> 0) WHERE nth > 1;
INSERT INTO repeated SELECT 'set', id, process_id FROM (
  SELECT id, process_id, row_number() OVER (PARTITION BY process_id, stream_id, start_ns, duration_ns, bytes, correlation ORDER BY id) AS nth
  FROM memory_set WHERE duration_ns > 0 AND correlation <> 0) WHERE nth > 1;
INSERT INTO repeated SELECT 'collective', id, process_id FROM (
  SELECT c.id, c.process_id, row_number() OVER (PARTITION BY c.process_id, l.correlation, c.start_ns, c.operation_id, c.bytes ORDER BY c.id) AS nth
  FROM collective c JOIN correlation_link l ON l.process_id = c.process_id AND l.external_id = c.external_id) WHERE nth > 1;
DELETE FROM kernel WHERE id IN (SELECT id FROM repeated WHERE kind = 'kernel');
DELETE FROM memory_copy WHERE id IN (SELECT id FROM repeated WHERE kind = 'copy');
DELETE FROM memory_set WHERE id IN (SELECT id FROM repeated WHERE kind = 'set');
DELETE FROM correlation_link WHERE (process_id, external_id) IN (
  SELECT process_id, external_id FROM collective WHERE id IN (SELECT id FROM repeated WHERE kind = 'collective'));
DELETE FROM collective WHERE id IN (SELECT id FROM repeated WHERE kind = 'collective');
INSERT INTO diagnostic(process_id, start_ns, severity, lane, code, count, message)
SELECT process_id, 0, 'warning', 'import', 'duplicate_event', count(*),
       count(*) || ' GPU events came twice, equal in everything; they are stored once.'
FROM repeated WHERE kind <> 'collective' GROUP BY process_id;

-- The host's side of a collective is the call that launched its kernel; without one, the kernel's start stands for it.
CREATE TEMP TABLE launch AS
SELECT c.id AS collective_id, min(a.id) AS api_id
FROM collective c JOIN correlation_link l ON l.process_id = c.process_id AND l.external_id = c.external_id
     JOIN api_call a ON a.process_id = l.process_id AND a.correlation = l.correlation
WHERE l.correlation <> 0 GROUP BY c.id;
UPDATE collective SET start_ns = a.start_ns, duration_ns = a.duration_ns, thread_id = a.thread_id
FROM launch h JOIN api_call a ON a.id = h.api_id WHERE h.collective_id = collective.id;
UPDATE collective SET thread_id = coalesce((SELECT min(id) FROM thread t WHERE t.process_id = collective.process_id), 0)
WHERE thread_id = 0;

-- Records decide what is communication only where they say it of every kernel and of nothing else.
CREATE TEMP TABLE communication_name AS
SELECT id FROM string WHERE lower(text) GLOB '*nccl*' OR lower(text) GLOB '*rccl*' OR lower(text) GLOB '*nvshmem*'
  OR lower(text) GLOB '*deep_ep*' OR lower(text) GLOB '*deepep*';
CREATE TEMP TABLE linked AS SELECT DISTINCT process_id, correlation FROM correlation_link;
CREATE INDEX temp.linked_by ON linked(process_id, correlation);
CREATE TEMP TABLE by_name AS
SELECT process_id FROM linked WHERE correlation = 0
UNION SELECT process_id FROM kernel WHERE name_id IN (SELECT id FROM communication_name)
  AND (process_id, correlation) NOT IN (SELECT process_id, correlation FROM linked)
UNION SELECT process_id FROM kernel WHERE name_id NOT IN (SELECT id FROM communication_name)
  AND (process_id, correlation) IN (SELECT process_id, correlation FROM linked)
UNION SELECT process_id FROM memory_copy WHERE (process_id, correlation) IN (SELECT process_id, correlation FROM linked)
UNION SELECT process_id FROM memory_set WHERE (process_id, correlation) IN (SELECT process_id, correlation FROM linked);
INSERT INTO diagnostic(process_id, start_ns, severity, lane, code, count, message)
SELECT c.process_id, 0, 'warning', 'import', 'collectives_not_linked', count(*),
       count(*) || ' collectives are not linked to their kernels, because some communication kernels of the process lack '
       || 'a record or share their correlation id with other work; what is communication is told by kernel names.'
FROM collective c WHERE c.process_id IN (SELECT process_id FROM by_name) GROUP BY c.process_id;
UPDATE collective SET external_id = NULL WHERE process_id IN (SELECT process_id FROM by_name);
DELETE FROM correlation_link WHERE process_id IN (SELECT process_id FROM by_name);

-- Event flag 2: launched from a graph.
CREATE TEMP TABLE graph_launch AS SELECT DISTINCT process_id, correlation FROM api_call
WHERE correlation <> 0 AND name_id IN (SELECT id FROM string WHERE text GLOB '*GraphLaunch*');
UPDATE kernel SET flags = flags | 2 WHERE (process_id, correlation) IN (SELECT process_id, correlation FROM graph_launch);
UPDATE memory_copy SET flags = flags | 2 WHERE (process_id, correlation) IN (SELECT process_id, correlation FROM graph_launch);
UPDATE memory_set SET flags = flags | 2 WHERE (process_id, correlation) IN (SELECT process_id, correlation FROM graph_launch);

CREATE TEMP TABLE blocking_call AS SELECT DISTINCT process_id, correlation FROM api_call
WHERE correlation <> 0 AND name_id IN (
  SELECT id FROM string WHERE (text GLOB '*Memcpy*' OR text GLOB '*Memset*') AND text NOT GLOB '*Async*');
UPDATE memory_copy SET is_async = 0 WHERE (process_id, correlation) IN (SELECT process_id, correlation FROM blocking_call);
UPDATE memory_set SET is_async = 0 WHERE (process_id, correlation) IN (SELECT process_id, correlation FROM blocking_call);
