-- SPDX-License-Identifier: Apache-2.0
-- The trace under the names of Nsight Systems' SQLite export (schema 3.16), so that scripts written for that run on a
-- Plumbline file. Times are those of the file. Differences, all of them where the export says more than a trace knows or
-- a trace needs more than one number:
--   names of CUDA functions lack the version suffix (cudaLaunchKernel, not cudaLaunchKernel_v7000)
--   globalPid and globalTid have the number of the process in the trace in the hardware's bits, because ranks on several
--   hosts may share a pid: <process % 127:8><1:8><pid:24><tid:24>
--   columns that a trace has nothing for are null
-- As in the export, deviceId of synchronizations is 0 whatever the device: CUPTI does not tell it. Domains of NVTX without
-- a name have no row.
-- PROCESSES is the view processes, which has globalPid, pid and name too: SQLite does not tell the two names apart.
-- Views are no tables: nsys2prv and SQL scripts read them; a program that looks for tables only (nsys-ai, nsys-tui) gets
-- tables with `plumb export --format nsys`.

CREATE VIEW StringIds AS SELECT id, text AS value FROM string;

-- Used by the views below.
CREATE VIEW nsys_process AS
SELECT id AS process_id,
       CAST(id % 127 * 72057594037927936 + 281474976710656 + pid % 16777216 * 16777216 AS INTEGER) AS globalPid
FROM process;

CREATE VIEW nsys_thread AS
SELECT t.id AS thread_id, CAST(p.globalPid + t.tid % 16777216 AS INTEGER) AS globalTid
FROM thread t JOIN nsys_process p ON p.process_id = t.process_id;

CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS
SELECT k.start_ns AS start, CAST(k.start_ns + k.duration_ns AS INTEGER) AS "end", d.ordinal AS deviceId, st.context AS contextId,
       CAST(NULL AS INTEGER) AS greenContextId, st.number AS streamId, k.correlation AS correlationId, p.globalPid,
       k.name_id AS demangledName, k.short_name_id AS shortName, k.mangled_name_id AS mangledName, CAST(1 AS INTEGER) AS launchType,
       CAST(NULL AS INTEGER) AS cacheConfig, k.registers_per_thread AS registersPerThread, k.grid_x AS gridX, k.grid_y AS gridY,
       k.grid_z AS gridZ, k.block_x AS blockX, k.block_y AS blockY, k.block_z AS blockZ, k.static_shared_bytes AS staticSharedMemory,
       k.dynamic_shared_bytes AS dynamicSharedMemory, k.local_bytes_per_thread AS localMemoryPerThread,
       CAST(0 AS INTEGER) AS localMemoryTotal, k.id AS gridId, CAST(NULL AS INTEGER) AS sharedMemoryExecuted,
       k.graph_node_id AS graphNodeId, CAST(NULL AS INTEGER) AS sharedMemoryLimitConfig, k.graph_id AS graphId
FROM kernel k JOIN device d ON d.id = k.device_id JOIN stream st ON st.id = k.stream_id
     JOIN nsys_process p ON p.process_id = k.process_id
WHERE k.flags & 5 = 0;

CREATE VIEW CUPTI_ACTIVITY_KIND_GRAPH_TRACE AS
SELECT k.start_ns AS start, CAST(k.start_ns + k.duration_ns AS INTEGER) AS "end", d.ordinal AS deviceId, st.context AS contextId,
       CAST(NULL AS INTEGER) AS greenContextId, st.number AS streamId, k.correlation AS correlationId, p.globalPid,
       k.graph_id AS graphId, k.graph_id AS graphExecId
FROM kernel k JOIN device d ON d.id = k.device_id JOIN stream st ON st.id = k.stream_id
     JOIN nsys_process p ON p.process_id = k.process_id
WHERE k.flags & 4 <> 0 AND k.flags & 1 = 0;

CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS
SELECT c.start_ns AS start, CAST(c.start_ns + c.duration_ns AS INTEGER) AS "end", d.ordinal AS deviceId, st.context AS contextId,
       CAST(NULL AS INTEGER) AS greenContextId, st.number AS streamId, c.correlation AS correlationId, p.globalPid, c.bytes,
       CAST(CASE WHEN c.source_kind = 5 AND c.target_kind = 5 AND c.copy_kind = 1 THEN 11
                 WHEN c.source_kind = 5 AND c.target_kind = 5 AND c.copy_kind = 2 THEN 12
                 WHEN c.source_kind = 5 AND c.target_kind = 5 AND c.copy_kind = 8 THEN 13 ELSE c.copy_kind END AS INTEGER) AS copyKind,
       CAST(NULL AS INTEGER) AS deprecatedSrcId,
       CAST(CASE WHEN c.source_kind BETWEEN 1 AND 7 THEN c.source_kind - 1 ELSE 7 END AS INTEGER) AS srcKind,
       CAST(CASE WHEN c.target_kind BETWEEN 1 AND 7 THEN c.target_kind - 1 ELSE 7 END AS INTEGER) AS dstKind,
       CAST(NULL AS INTEGER) AS srcDeviceId, CAST(NULL AS INTEGER) AS srcContextId, CAST(NULL AS INTEGER) AS dstDeviceId,
       CAST(NULL AS INTEGER) AS dstContextId, CAST(NULL AS INTEGER) AS migrationCause, c.graph_node_id AS graphNodeId,
       CAST(NULL AS INTEGER) AS virtualAddress
FROM memory_copy c JOIN device d ON d.id = c.device_id JOIN stream st ON st.id = c.stream_id
     JOIN nsys_process p ON p.process_id = c.process_id
WHERE c.flags & 1 = 0;

CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS
SELECT m.start_ns AS start, CAST(m.start_ns + m.duration_ns AS INTEGER) AS "end", d.ordinal AS deviceId, st.context AS contextId,
       CAST(NULL AS INTEGER) AS greenContextId, st.number AS streamId, m.correlation AS correlationId, p.globalPid, m.value, m.bytes,
       m.graph_node_id AS graphNodeId,
       CAST(CASE WHEN m.memory_kind BETWEEN 1 AND 7 THEN m.memory_kind - 1 ELSE 7 END AS INTEGER) AS memKind
FROM memory_set m JOIN device d ON d.id = m.device_id JOIN stream st ON st.id = m.stream_id
     JOIN nsys_process p ON p.process_id = m.process_id
WHERE m.flags & 1 = 0;

CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS
SELECT a.start_ns AS start, CAST(a.start_ns + a.duration_ns AS INTEGER) AS "end",
       CAST(CASE a.layer WHEN 'driver' THEN 1 ELSE 0 END AS INTEGER) AS eventClass, t.globalTid, a.correlation AS correlationId,
       a.name_id AS nameId, a.result AS returnValue, s.stack_id AS callchainId
FROM api_call a JOIN nsys_thread t ON t.thread_id = a.thread_id LEFT JOIN api_call_stack s ON s.api_call_id = a.id;

CREATE VIEW CUDA_CALLCHAINS AS
SELECT f.stack_id AS id, f.function_id AS symbol, f.file_id AS module, CAST(NULL AS INTEGER) AS kernelMode,
       CAST(NULL AS INTEGER) AS thumbCode, CAST(NULL AS INTEGER) AS unresolved, CAST(NULL AS INTEGER) AS specialEntry,
       CAST(NULL AS INTEGER) AS originalIP, CAST(NULL AS INTEGER) AS unwindMethod, f.depth AS stackDepth
FROM stack_frame f WHERE f.stack_id IN (SELECT stack_id FROM api_call_stack);

CREATE VIEW CUPTI_ACTIVITY_KIND_SYNCHRONIZATION AS
SELECT y.start_ns AS start, CAST(y.start_ns + y.duration_ns AS INTEGER) AS "end", CAST(0 AS INTEGER) AS deviceId,
       CAST(coalesce(st.context, 0) AS INTEGER) AS contextId, CAST(NULL AS INTEGER) AS greenContextId,
       CAST(coalesce(st.number, 4294967295) AS INTEGER) AS streamId, y.correlation AS correlationId, p.globalPid,
       y.kind AS syncType, CAST(coalesce(y.event_id, 4294967295) AS INTEGER) AS eventId
FROM synchronization y JOIN nsys_process p ON p.process_id = y.process_id LEFT JOIN stream st ON st.id = y.stream_id;

CREATE VIEW CUPTI_ACTIVITY_KIND_CUDA_EVENT AS
SELECT e.start_ns AS timestamp, d.ordinal AS deviceId, st.context AS contextId, CAST(NULL AS INTEGER) AS greenContextId,
       st.number AS streamId, e.correlation AS correlationId, p.globalPid, e.event_id AS eventId, e.sync_id AS eventSyncId
FROM event_record e JOIN nsys_process p ON p.process_id = e.process_id JOIN stream st ON st.id = e.stream_id
     LEFT JOIN device d ON d.id = st.device_id;

CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS AS
SELECT a.start_ns AS start, p.globalPid, CAST(coalesce(d.ordinal, 0) AS INTEGER) AS deviceId, CAST(coalesce(st.context, 0) AS INTEGER) AS contextId,
       a.address, CAST(0 AS INTEGER) AS pc, a.bytes,
       CAST(CASE a.space WHEN 'pageable' THEN 0 WHEN 'pinned' THEN 1 WHEN 'device' THEN 2 WHEN 'array' THEN 3 WHEN 'managed' THEN 4
         WHEN 'device_static' THEN 5 WHEN 'managed_static' THEN 6 ELSE 7 END AS INTEGER) AS memKind,
       CAST(0 AS INTEGER) AS memoryOperationType, CAST(NULL AS TEXT) AS name, a.correlation AS correlationId, st.number AS streamId
FROM allocation a JOIN nsys_process p ON p.process_id = a.process_id LEFT JOIN device d ON d.id = a.device_id
     LEFT JOIN stream st ON st.id = a.stream_id
UNION ALL
SELECT f.start_ns, p.globalPid, CAST(coalesce(d.ordinal, 0) AS INTEGER), CAST(coalesce(st.context, 0) AS INTEGER), a.address,
       CAST(0 AS INTEGER), a.bytes,
       CAST(CASE a.space WHEN 'pageable' THEN 0 WHEN 'pinned' THEN 1 WHEN 'device' THEN 2 WHEN 'array' THEN 3 WHEN 'managed' THEN 4
         WHEN 'device_static' THEN 5 WHEN 'managed_static' THEN 6 ELSE 7 END AS INTEGER),
       CAST(1 AS INTEGER), CAST(NULL AS TEXT), f.correlation, st.number
FROM deallocation f JOIN allocation a ON a.id = f.allocation_id JOIN nsys_process p ON p.process_id = a.process_id
     LEFT JOIN device d ON d.id = a.device_id LEFT JOIN stream st ON st.id = a.stream_id;

-- eventType: 59 push/pop, 60 start/end, 34 mark; 75 names a domain and 33 a category.
CREATE VIEW NVTX_EVENTS AS
SELECT r.start_ns AS start, CAST(r.start_ns + r.duration_ns AS INTEGER) AS "end",
       CAST(CASE r.kind WHEN 'push_pop' THEN 59 WHEN 'start_end' THEN 60 ELSE 34 END AS INTEGER) AS eventType,
       CAST(CASE r.kind WHEN 'start_end' THEN r.id END AS INTEGER) AS rangeId, r.category_id AS category, r.color_argb AS color,
       s.text, t.globalTid, e.globalTid AS endGlobalTid, CAST(NULL AS INTEGER) AS textId, r.domain_id AS domainId,
       CAST(NULL AS INTEGER) AS uint64Value,
       CAST((SELECT max(v.value) FROM range_payload v JOIN string n ON n.id = v.name_id
         WHERE v.range_id = r.id AND n.text = 'payload' AND typeof(v.value) = 'integer') AS INTEGER) AS int64Value,
       CAST((SELECT max(v.value) FROM range_payload v JOIN string n ON n.id = v.name_id
         WHERE v.range_id = r.id AND n.text = 'payload' AND typeof(v.value) = 'real') AS REAL) AS doubleValue,
       CAST(NULL AS INTEGER) AS uint32Value, CAST(NULL AS INTEGER) AS int32Value,
       CAST(NULL AS REAL) AS floatValue, CAST(NULL AS INTEGER) AS jsonTextId,
       CAST((SELECT nullif(json_group_object(n.text, v.value), '{}') FROM range_payload v JOIN string n ON n.id = v.name_id
         WHERE v.range_id = r.id AND (n.text <> 'payload' OR typeof(v.value) = 'text') AND typeof(v.value) <> 'blob')
         AS TEXT) AS jsonText,
       CAST(NULL AS TEXT) AS binaryData, r.id AS eventId
FROM range r JOIN string s ON s.id = r.name_id JOIN nsys_thread t ON t.thread_id = r.thread_id
     LEFT JOIN nsys_thread e ON e.thread_id = r.end_thread_id
WHERE r.domain_id NOT IN (SELECT id FROM string WHERE text = 'profiler overhead')
UNION ALL
SELECT CAST(0 AS INTEGER), CAST(NULL AS INTEGER), CAST(75 AS INTEGER), CAST(NULL AS INTEGER), CAST(NULL AS INTEGER), CAST(NULL AS INTEGER),
       s.text, p.globalPid, CAST(NULL AS INTEGER), CAST(NULL AS INTEGER), g.domain_id, CAST(NULL AS INTEGER), CAST(NULL AS INTEGER),
       CAST(NULL AS REAL), CAST(NULL AS INTEGER), CAST(NULL AS INTEGER), CAST(NULL AS REAL), CAST(NULL AS INTEGER), CAST(NULL AS TEXT),
       CAST(NULL AS TEXT), CAST(NULL AS INTEGER)
FROM (SELECT DISTINCT process_id, domain_id FROM range WHERE domain_id <> 0) g JOIN string s ON s.id = g.domain_id
     JOIN nsys_process p ON p.process_id = g.process_id
WHERE s.text <> 'profiler overhead' AND s.text NOT GLOB 'domain [0-9]*'
UNION ALL
SELECT CAST(0 AS INTEGER), CAST(NULL AS INTEGER), CAST(33 AS INTEGER), CAST(NULL AS INTEGER), g.category_id, CAST(NULL AS INTEGER),
       s.text, p.globalPid, CAST(NULL AS INTEGER), CAST(NULL AS INTEGER), g.domain_id, CAST(NULL AS INTEGER), CAST(NULL AS INTEGER),
       CAST(NULL AS REAL), CAST(NULL AS INTEGER), CAST(NULL AS INTEGER), CAST(NULL AS REAL), CAST(NULL AS INTEGER), CAST(NULL AS TEXT),
       CAST(NULL AS TEXT), CAST(NULL AS INTEGER)
FROM (SELECT DISTINCT process_id, domain_id, category_id FROM range WHERE category_id IS NOT NULL) g
     JOIN string s ON s.id = g.category_id JOIN nsys_process p ON p.process_id = g.process_id;

CREATE VIEW OSRT_API AS
SELECT o.start_ns AS start, CAST(o.start_ns + o.duration_ns AS INTEGER) AS "end", CAST(27 AS INTEGER) AS eventClass, t.globalTid,
       o.name_id AS nameId, o.result AS returnValue, CAST(0 AS INTEGER) AS nestingLevel, CAST(coalesce(o.stack_id, 0) AS INTEGER) AS callchainId
FROM os_call o JOIN nsys_thread t ON t.thread_id = o.thread_id;

CREATE VIEW OSRT_CALLCHAINS AS
SELECT f.stack_id AS id, f.function_id AS symbol, f.file_id AS module, CAST(NULL AS INTEGER) AS kernelMode,
       CAST(NULL AS INTEGER) AS thumbCode, CAST(NULL AS INTEGER) AS unresolved, CAST(NULL AS INTEGER) AS specialEntry,
       CAST(NULL AS INTEGER) AS originalIP, CAST(NULL AS INTEGER) AS unwindMethod, f.depth AS stackDepth
FROM stack_frame f WHERE f.stack_id IN (SELECT stack_id FROM os_call);

CREATE VIEW PROFILER_OVERHEAD AS
SELECT r.start_ns AS start, CAST(r.start_ns + r.duration_ns AS INTEGER) AS "end", t.globalTid, r.name_id AS nameId,
       CAST(0 AS INTEGER) AS returnValue
FROM range r JOIN nsys_thread t ON t.thread_id = r.thread_id
WHERE r.domain_id IN (SELECT id FROM string WHERE text = 'profiler overhead');

CREATE VIEW ThreadNames AS
SELECT t.name_id AS nameId, CAST(NULL AS INTEGER) AS priority, g.globalTid
FROM thread t JOIN nsys_thread g ON g.thread_id = t.id WHERE t.name_id IS NOT NULL;

-- One row per GPU that differs; id is the number under which kernels name it, unless ranks use one number for several GPUs.
CREATE VIEW TARGET_INFO_GPU AS
SELECT CAST(281474976710656 AS INTEGER) AS vmId,
       CAST(CASE WHEN d.id = (SELECT min(e.id) FROM device e WHERE e.ordinal = d.ordinal) THEN d.ordinal ELSE 1000 + d.id END AS INTEGER) AS id,
       s.text AS name, CAST('' AS TEXT) AS busLocation, CAST(1 AS INTEGER) AS isDiscrete, CAST(NULL AS INTEGER) AS l2CacheSize,
       d.memory_bytes AS totalMemory, d.memory_bandwidth_bytes_per_s AS memoryBandwidth, d.core_clock_hz AS clockRate,
       d.multiprocessor_count AS smCount, d.ordinal AS pwGpuId,
       CAST(CASE WHEN length(d.uuid) = 32 THEN substr(d.uuid, 1, 8) || '-' || substr(d.uuid, 9, 4) || '-' || substr(d.uuid, 13, 4) || '-' ||
         substr(d.uuid, 17, 4) || '-' || substr(d.uuid, 21, 12) ELSE d.uuid END AS TEXT) AS uuid,
       CAST(0 AS INTEGER) AS luid, CAST('' AS TEXT) AS chipName, d.ordinal AS cuDevice, CAST(32 AS INTEGER) AS threadsPerWarp,
       CAST(d.max_threads_per_multiprocessor / 32 AS INTEGER) AS maxWarpsPerSm, d.compute_major AS computeMajor,
       d.compute_minor AS computeMinor, d.compute_major AS smMajor, d.compute_minor AS smMinor
FROM device d JOIN string s ON s.id = d.name_id
WHERE d.id = (SELECT min(e.id) FROM device e WHERE e.ordinal = d.ordinal AND coalesce(e.uuid, '') = coalesce(d.uuid, ''));

CREATE VIEW TARGET_INFO_CUDA_DEVICE AS
SELECT CAST(CASE WHEN m.id = (SELECT min(e.id) FROM device e WHERE e.ordinal = d.ordinal) THEN d.ordinal ELSE 1000 + m.id END AS INTEGER) AS gpuId,
       d.ordinal AS cudaId, p.pid, d.uuid, d.multiprocessor_count AS numMultiprocessors
FROM device d JOIN process p ON p.id = d.process_id
     JOIN device m ON m.id = (SELECT min(e.id) FROM device e WHERE e.ordinal = d.ordinal AND coalesce(e.uuid, '') = coalesce(d.uuid, ''));

CREATE VIEW TARGET_INFO_CUDA_CONTEXT_INFO AS
SELECT CAST(min(st.number) AS INTEGER) AS nullStreamId, CAST(0 AS INTEGER) AS hwId, CAST(1 AS INTEGER) AS vmId, p.pid AS processId,
       d.ordinal AS deviceId, st.context AS contextId, CAST(0 AS INTEGER) AS parentContextId, CAST(0 AS INTEGER) AS isGreenContext
FROM stream st JOIN process p ON p.id = st.process_id JOIN device d ON d.id = st.device_id
GROUP BY p.id, p.pid, d.ordinal, st.context;

CREATE VIEW TARGET_INFO_CUDA_STREAM AS
SELECT st.number AS streamId, CAST(0 AS INTEGER) AS hwId, CAST(1 AS INTEGER) AS vmId, p.pid AS processId, st.context AS contextId,
       CAST(coalesce(st.priority, 0) AS INTEGER) AS priority,
       CAST(CASE st.kind WHEN 'blocking' THEN 1 WHEN 'non-blocking' THEN 2 WHEN 'default' THEN 3 ELSE 0 END AS INTEGER) AS flag
FROM stream st JOIN process p ON p.id = st.process_id;

CREATE VIEW TARGET_INFO_NVTX_CUDA_STREAM AS
SELECT n.text AS name, CAST(0 AS INTEGER) AS hwId, CAST(1 AS INTEGER) AS vmId, p.pid AS processId, d.ordinal AS deviceId,
       st.context AS contextId, st.number AS streamId
FROM stream st JOIN process p ON p.id = st.process_id JOIN string n ON n.id = st.name_id LEFT JOIN device d ON d.id = st.device_id;

CREATE VIEW TARGET_INFO_SESSION_START_TIME AS
SELECT CAST(m.value AS INTEGER) AS utcEpochNs, CAST(NULL AS TEXT) AS utcTime, CAST(NULL AS TEXT) AS localTime
FROM meta m WHERE m.key = 'session_start_realtime_ns';

-- The host only: a trace holds no environment.
CREATE VIEW TARGET_INFO_SYSTEM_ENV AS
SELECT CAST(281474976710656 AS INTEGER) AS globalVid, CAST('' AS TEXT) AS devStateName, CAST('Hostname' AS TEXT) AS name,
       CAST(0 AS INTEGER) AS nameEnum, CAST(CASE m.value WHEN '' THEN 'unknown' ELSE m.value END AS TEXT) AS value
FROM meta m WHERE m.key = 'host';

CREATE VIEW ANALYSIS_DETAILS AS
SELECT CAST(281474976710656 AS INTEGER) AS globalVid, CAST(coalesce(max(end_ns), 0) AS INTEGER) AS duration, CAST(0 AS INTEGER) AS startTime,
       CAST(coalesce(max(end_ns), 0) AS INTEGER) AS stopTime
FROM process;

CREATE VIEW DIAGNOSTIC_EVENT AS
SELECT g.start_ns AS timestamp, CAST(1 AS INTEGER) AS timestampType, CAST(1 AS INTEGER) AS source,
       CAST(CASE g.severity WHEN 'error' THEN 3 WHEN 'warning' THEN 2 ELSE 1 END AS INTEGER) AS severity, g.message AS text, p.globalPid
FROM diagnostic g LEFT JOIN nsys_process p ON p.process_id = g.process_id;

CREATE VIEW META_DATA_EXPORT AS
SELECT CAST('EXPORT_PRODUCT_NAME' AS TEXT) AS name, CAST('Plumbline' AS TEXT) AS value
UNION ALL SELECT 'EXPORT_PRODUCT_VERSION', value FROM meta WHERE key = 'plumb_version'
UNION ALL SELECT 'EXPORT_SCHEMA_VERSION', '3.16.0'
UNION ALL SELECT 'EXPORT_SCHEMA_VERSION_MAJOR', '3'
UNION ALL SELECT 'EXPORT_SCHEMA_VERSION_MINOR', '16'
UNION ALL SELECT 'EXPORT_SCHEMA_VERSION_MICRO', '0'
UNION ALL SELECT 'EXPORT_PARAM_EXPORT_TYPE', 'SQLite';

CREATE VIEW META_DATA_CAPTURE AS SELECT CAST(key AS TEXT) AS name, value FROM meta;

CREATE VIEW ENUM_NSYS_EVENT_TYPE AS
SELECT CAST(33 AS INTEGER) AS id, CAST('NvtxCategory' AS TEXT) AS name, CAST('NvtxCategory' AS TEXT) AS label
UNION ALL SELECT 34, 'NvtxMark', 'NvtxMark'
UNION ALL SELECT 59, 'NvtxPushPopRange', 'NvtxPushPopRange'
UNION ALL SELECT 60, 'NvtxStartEndRange', 'NvtxStartEndRange'
UNION ALL SELECT 75, 'NvtxDomainCreate', 'NvtxDomainCreate';

CREATE VIEW ENUM_NSYS_EVENT_CLASS AS
SELECT CAST(0 AS INTEGER) AS id, CAST('TRACE_PROCESS_EVENT_CUDA_RUNTIME' AS TEXT) AS name, CAST('CUDA runtime' AS TEXT) AS label
UNION ALL SELECT 1, 'TRACE_PROCESS_EVENT_CUDA_DRIVER', 'CUDA driver'
UNION ALL SELECT 27, 'TRACE_PROCESS_EVENT_OS_RUNTIME', 'OSRT runtime';

CREATE VIEW ENUM_CUDA_MEMCPY_OPER AS
SELECT CAST(0 AS INTEGER) AS id, CAST('CUDA_MEMCPY_KIND_UNKNOWN' AS TEXT) AS name, CAST('Unknown' AS TEXT) AS label
UNION ALL SELECT 1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'
UNION ALL SELECT 2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'
UNION ALL SELECT 3, 'CUDA_MEMCPY_KIND_HTOA', 'Host-to-Array'
UNION ALL SELECT 4, 'CUDA_MEMCPY_KIND_ATOH', 'Array-to-Host'
UNION ALL SELECT 5, 'CUDA_MEMCPY_KIND_ATOA', 'Array-to-Array'
UNION ALL SELECT 6, 'CUDA_MEMCPY_KIND_ATOD', 'Array-to-Device'
UNION ALL SELECT 7, 'CUDA_MEMCPY_KIND_DTOA', 'Device-to-Array'
UNION ALL SELECT 8, 'CUDA_MEMCPY_KIND_DTOD', 'Device-to-Device'
UNION ALL SELECT 9, 'CUDA_MEMCPY_KIND_HTOH', 'Host-to-Host'
UNION ALL SELECT 10, 'CUDA_MEMCPY_KIND_PTOP', 'Peer-to-Peer'
UNION ALL SELECT 11, 'CUDA_MEMCPY_KIND_UVM_HTOD', 'Unified Host-to-Device'
UNION ALL SELECT 12, 'CUDA_MEMCPY_KIND_UVM_DTOH', 'Unified Device-to-Host'
UNION ALL SELECT 13, 'CUDA_MEMCPY_KIND_UVM_DTOD', 'Unified Device-to-Device';

CREATE VIEW ENUM_CUDA_MEM_KIND AS
SELECT CAST(0 AS INTEGER) AS id, CAST('CUDA_MEMOPR_MEMORY_KIND_PAGEABLE' AS TEXT) AS name, CAST('Pageable' AS TEXT) AS label
UNION ALL SELECT 1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'
UNION ALL SELECT 2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device'
UNION ALL SELECT 3, 'CUDA_MEMOPR_MEMORY_KIND_ARRAY', 'Array'
UNION ALL SELECT 4, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED', 'Managed'
UNION ALL SELECT 5, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC', 'Device Static'
UNION ALL SELECT 6, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC', 'Managed Static'
UNION ALL SELECT 7, 'CUDA_MEMOPR_MEMORY_KIND_UNKNOWN', 'Unknown';

CREATE VIEW ENUM_CUDA_DEV_MEM_EVENT_OPER AS
SELECT CAST(0 AS INTEGER) AS id, CAST('CUDA_DEV_MEM_EVENT_OPR_ALLOCATION' AS TEXT) AS name, CAST('Allocation' AS TEXT) AS label
UNION ALL SELECT 1, 'CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION', 'Deallocation';

CREATE VIEW ENUM_CUDA_KERNEL_LAUNCH_TYPE AS
SELECT CAST(0 AS INTEGER) AS id, CAST('CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN' AS TEXT) AS name, CAST('Unknown' AS TEXT) AS label
UNION ALL SELECT 1, 'CUDA_KERNEL_LAUNCH_TYPE_REGULAR', 'Regular';

CREATE VIEW ENUM_CUPTI_STREAM_TYPE AS
SELECT CAST(0 AS INTEGER) AS id, CAST('CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN' AS TEXT) AS name, CAST('Unknown stream type' AS TEXT) AS label
UNION ALL SELECT 1, 'CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT', 'Default stream'
UNION ALL SELECT 2, 'CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING', 'Non-blocking stream'
UNION ALL SELECT 3, 'CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL', 'Null stream';

CREATE VIEW ENUM_CUPTI_SYNC_TYPE AS
SELECT CAST(0 AS INTEGER) AS id, CAST('CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN' AS TEXT) AS name, CAST('Unknown' AS TEXT) AS label
UNION ALL SELECT 1, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE', 'Event sync'
UNION ALL SELECT 2, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT', 'Stream wait sync'
UNION ALL SELECT 3, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE', 'Stream sync'
UNION ALL SELECT 4, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE', 'Context sync';

CREATE VIEW ENUM_DIAGNOSTIC_SEVERITY_LEVEL AS
SELECT CAST(0 AS INTEGER) AS id, CAST('UnknownLevel' AS TEXT) AS name, CAST('Unknown' AS TEXT) AS label
UNION ALL SELECT 1, 'Info', 'Info'
UNION ALL SELECT 2, 'Warning', 'Warning'
UNION ALL SELECT 3, 'Error', 'Error';

CREATE VIEW ENUM_DIAGNOSTIC_SOURCE_TYPE AS
SELECT CAST(0 AS INTEGER) AS id, CAST('UnknownSource' AS TEXT) AS name, CAST('Unknown source' AS TEXT) AS label
UNION ALL SELECT 1, 'Injection', 'Injection';

CREATE VIEW ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE AS
SELECT CAST(0 AS INTEGER) AS id, CAST('UnknownTimestamp' AS TEXT) AS name, CAST('Unknown timestamp' AS TEXT) AS label
UNION ALL SELECT 1, 'TargetTimestamp', 'Target timestamp';
