-- SPDX-License-Identifier: Apache-2.0
-- The public surface: stable names and columns for SQL, Python, the command line and the Qt program.
-- Common columns: id (of the table below), rank (null when the program set none), process_id, start_ns, duration_ns, name.
-- These views are created in the file by the recorder; `plumb` re-creates them as TEMP views when it opens a file, so a
-- file from a stranger cannot redefine them.

-- name: the program; duration_ns: until it said goodbye, null while it runs or when it was killed; host, command (argv);
-- local_rank, world_size as torchrun sets them; ended: 'exit' (goodbye said), 'lost' (killed), null (still running);
-- globalPid: the process in the views of nsys_views.sql.
CREATE VIEW processes AS
SELECT p.id, p.rank, p.id AS process_id, p.start_ns, p.end_ns - p.start_ns AS duration_ns, s.text AS name,
       p.pid, p.parent_pid, h.text AS host, c.text AS command, p.local_rank, p.world_size, p.ended,
       CAST(p.id % 127 * 72057594037927936 + 281474976710656 + p.pid % 16777216 * 16777216 AS INTEGER) AS globalPid
FROM process p JOIN string s ON s.id = p.program_id JOIN string h ON h.id = p.host_id JOIN string c ON c.id = p.command_id;

-- One row per process and device. ordinal: CUPTI's device id; kind: 'gpu' or 'software' (times are CPU times); core_clock_hz,
-- memory_bytes, memory_bandwidth_bytes_per_s: from the device's properties.
CREATE VIEW devices AS
SELECT d.id, p.rank, d.process_id, s.text AS name, d.ordinal, d.kind, d.uuid, d.compute_major, d.compute_minor,
       d.multiprocessor_count, d.memory_bytes, d.memory_bandwidth_bytes_per_s, d.core_clock_hz,
       d.max_threads_per_multiprocessor
FROM device d JOIN process p ON p.id = d.process_id JOIN string s ON s.id = d.name_id;

-- stream: CUPTI's stream id; device: ordinal; name: the program's, or 'stream N'; priority, kind ('default', 'blocking',
-- 'non-blocking'): null when not known.
CREATE VIEW streams AS
SELECT st.id, p.rank, st.process_id, st.number AS stream, coalesce(n.text, 'stream ' || st.number) AS name,
       st.device_id, d.ordinal AS device, st.context, st.priority, st.kind
FROM stream st JOIN process p ON p.id = st.process_id LEFT JOIN device d ON d.id = st.device_id
     LEFT JOIN string n ON n.id = st.name_id;

-- start_ns, duration_ns: on the device; name: short; full_name: demangled; device: ordinal; stream: CUPTI's stream id; correlation:
-- that of the api_call which launched it; grid and block in blocks and threads; registers_per_thread; *_shared_bytes per block;
-- local_bytes_per_thread; graph_id and graph_node_id: null for plain launches; flags: 1 no usable time, 2 from a graph, 4 a whole
-- graph that was recorded as one.
CREATE VIEW kernels AS
SELECT k.id, p.rank, k.process_id, k.start_ns, k.duration_ns, sn.text AS name, n.text AS full_name, mn.text AS mangled_name,
       d.ordinal AS device, st.number AS stream, k.stream_id, k.correlation, k.grid_x, k.grid_y, k.grid_z, k.block_x, k.block_y, k.block_z,
       k.registers_per_thread, k.static_shared_bytes, k.dynamic_shared_bytes, k.local_bytes_per_thread,
       k.graph_id, k.graph_node_id, k.flags
FROM kernel k JOIN process p ON p.id = k.process_id JOIN stream st ON st.id = k.stream_id
     JOIN device d ON d.id = k.device_id
     JOIN string sn ON sn.id = k.short_name_id JOIN string n ON n.id = k.name_id JOIN string mn ON mn.id = k.mangled_name_id;

-- bytes: copied; copy_kind: HtoD DtoH DtoD HtoH PtoP …; source_kind, target_kind: pageable pinned device array managed;
-- is_async: 1 when the call was asynchronous; the other columns as in kernels.
CREATE VIEW copies AS
SELECT c.id, p.rank, c.process_id, c.start_ns, c.duration_ns,
       'copy ' || CASE c.copy_kind WHEN 1 THEN 'HtoD' WHEN 2 THEN 'DtoH' WHEN 3 THEN 'HtoA' WHEN 4 THEN 'AtoH' WHEN 5 THEN 'AtoA'
         WHEN 6 THEN 'AtoD' WHEN 7 THEN 'DtoA' WHEN 8 THEN 'DtoD' WHEN 9 THEN 'HtoH' WHEN 10 THEN 'PtoP' ELSE 'unknown' END AS name,
       d.ordinal AS device, st.number AS stream, c.stream_id, c.bytes,
       CASE c.copy_kind WHEN 1 THEN 'HtoD' WHEN 2 THEN 'DtoH' WHEN 3 THEN 'HtoA' WHEN 4 THEN 'AtoH' WHEN 5 THEN 'AtoA'
         WHEN 6 THEN 'AtoD' WHEN 7 THEN 'DtoA' WHEN 8 THEN 'DtoD' WHEN 9 THEN 'HtoH' WHEN 10 THEN 'PtoP' ELSE 'unknown' END AS copy_kind,
       CASE c.source_kind WHEN 1 THEN 'pageable' WHEN 2 THEN 'pinned' WHEN 3 THEN 'device' WHEN 4 THEN 'array' WHEN 5 THEN 'managed' ELSE 'unknown' END AS source_kind,
       CASE c.target_kind WHEN 1 THEN 'pageable' WHEN 2 THEN 'pinned' WHEN 3 THEN 'device' WHEN 4 THEN 'array' WHEN 5 THEN 'managed' ELSE 'unknown' END AS target_kind,
       c.is_async, c.correlation, c.graph_id, c.graph_node_id, c.flags
FROM memory_copy c JOIN process p ON p.id = c.process_id JOIN stream st ON st.id = c.stream_id JOIN device d ON d.id = c.device_id;

-- bytes: set; value: the byte or word; the other columns as in kernels.
CREATE VIEW memory_sets AS
SELECT m.id, p.rank, m.process_id, m.start_ns, m.duration_ns, 'set' AS name, d.ordinal AS device, st.number AS stream, m.stream_id,
       m.bytes, m.value, m.is_async, m.correlation, m.graph_id, m.graph_node_id, m.flags
FROM memory_set m JOIN process p ON p.id = m.process_id JOIN stream st ON st.id = m.stream_id JOIN device d ON d.id = m.device_id;

-- Host-side calls of CUDA. name: cudaLaunchKernel …; tid: the calling thread; layer: 'runtime' or 'driver'; correlation: that of the
-- kernels, copies and sets it launched; result: 0 success, else CUDA's error code.
CREATE VIEW api_calls AS
SELECT a.id, p.rank, a.process_id, a.start_ns, a.duration_ns, s.text AS name, t.tid, a.thread_id, a.layer, a.correlation, a.result
FROM api_call a JOIN process p ON p.id = a.process_id JOIN thread t ON t.id = a.thread_id JOIN string s ON s.id = a.name_id;

-- Calls of the operating system's library on the host (imported traces). name: poll, read …; result: what it returned; stack_id: who
-- called it (table stack).
CREATE VIEW os_calls AS
SELECT o.id, p.rank, o.process_id, o.start_ns, o.duration_ns, s.text AS name, t.tid, o.thread_id, o.result, o.stack_id
FROM os_call o JOIN process p ON p.id = o.process_id JOIN thread t ON t.id = o.thread_id JOIN string s ON s.id = o.name_id;

-- Waits of the host, and of streams for events, as CUPTI saw them. name: what was waited for; stream: CUPTI's stream id, null when
-- it is not about one; event_id: CUPTI's.
CREATE VIEW synchronizations AS
SELECT y.id, p.rank, y.process_id, y.start_ns, y.duration_ns,
       CASE y.kind WHEN 1 THEN 'event synchronize' WHEN 2 THEN 'stream wait event' WHEN 3 THEN 'stream synchronize'
         WHEN 4 THEN 'context synchronize' ELSE 'unknown' END AS name,
       st.number AS stream, y.stream_id, y.event_id, y.correlation
FROM synchronization y JOIN process p ON p.id = y.process_id LEFT JOIN stream st ON st.id = y.stream_id;

-- NVTX ranges and marks. duration_ns: null when the range was never closed; kind: 'push_pop' 'start_end' 'mark'; depth: push_pop
-- ranges around it on its thread; parent_id: id of the innermost of them; domain: '' is NVTX's default; tid: the opening thread.
CREATE VIEW ranges AS
SELECT r.id, p.rank, r.process_id, r.start_ns, r.duration_ns, s.text AS name, r.depth, r.parent_id, r.kind, dm.text AS domain,
       c.text AS category, r.color_argb, t.tid, r.thread_id
FROM range r JOIN process p ON p.id = r.process_id JOIN thread t ON t.id = r.thread_id JOIN string s ON s.id = r.name_id
     JOIN string dm ON dm.id = r.domain_id LEFT JOIN string c ON c.id = r.category_id;

-- Calls of a framework's operators on the host (imported traces). parent_id: id of the innermost operator around it; input_dims,
-- input_types: JSON arrays, null when not said; sequence: torch's, the same of a forward operator and those of its backward; tid:
-- the calling thread. Table operator_launch leads to the work on the device.
CREATE VIEW operators AS
SELECT o.id, p.rank, o.process_id, o.start_ns, o.duration_ns, s.text AS name, o.parent_id, nullif(d.text, '') AS input_dims,
       nullif(ty.text, '') AS input_types, o.argument_set_id, o.sequence, o.forward_thread, o.external_id, t.tid, o.thread_id
FROM operator o JOIN process p ON p.id = o.process_id JOIN thread t ON t.id = o.thread_id JOIN string s ON s.id = o.name_id
     LEFT JOIN operator_argument_set a ON a.id = o.argument_set_id LEFT JOIN string d ON d.id = a.dims_id
     LEFT JOIN string ty ON ty.id = a.types_id;

-- Calls of Python functions (imported traces). name: file(line): function; parent_id: id of the caller; tid: the calling thread.
CREATE VIEW python_calls AS
SELECT c.id, p.rank, c.process_id, c.start_ns, c.duration_ns, s.text AS name, c.parent_id, t.tid, c.thread_id
FROM python_call c JOIN process p ON p.id = c.process_id JOIN thread t ON t.id = c.thread_id JOIN string s ON s.id = c.name_id;

-- A training step: a range called 'step' (or 'step N', 'ProfilerStep#N'); step counts from 0 within its process. The
-- copies of such ranges that torch.profiler draws on the GPU are not steps.
CREATE VIEW steps AS
SELECT r.id, p.rank, r.process_id, r.start_ns, r.duration_ns, s.text AS name,
       row_number() OVER (PARTITION BY r.process_id ORDER BY r.start_ns) - 1 AS step, r.thread_id
FROM range r JOIN process p ON p.id = r.process_id JOIN string s ON s.id = r.name_id
WHERE (s.text = 'step' OR s.text GLOB 'step [0-9]*' OR s.text GLOB 'ProfilerStep#[0-9]*')
  AND r.domain_id NOT IN (SELECT id FROM string WHERE text = 'gpu_user_annotation');

-- One row per rank and collective. start_ns, duration_ns: the host's call, not the transfer; operation: NCCL's name (AllGather …);
-- communicator: its id, the same on every rank; communicator_rank: this process in it; sequence: matches ranks together with
-- communicator and operation; datatype, element_count: the caller's; bytes: NCCL's convention (all-gather and reduce-scatter count
-- all ranks' parts); root, peer: null where there is none; algorithm, protocol, channels: NCCL's choice. kernel_id, device_start_ns and device_duration_ns are its kernel's; null when no kernel was recorded.
CREATE VIEW collectives AS
SELECT c.id, p.rank, c.process_id, c.start_ns, c.duration_ns, o.text AS name, o.text AS operation,
       cm.hash AS communicator, cn.text AS communicator_name, cm.n_ranks, cm.rank AS communicator_rank, c.sequence,
       dt.text AS datatype, c.element_count, c.bytes, c.root, c.peer, al.text AS algorithm, pr.text AS protocol, c.channels,
       k.id AS kernel_id, k.start_ns AS device_start_ns, k.duration_ns AS device_duration_ns, k.stream_id, st.number AS stream,
       c.thread_id
FROM collective c JOIN process p ON p.id = c.process_id
     JOIN string o ON o.id = c.operation_id JOIN string dt ON dt.id = c.datatype_id
     LEFT JOIN communicator cm ON cm.id = c.communicator_id LEFT JOIN string cn ON cn.id = cm.name_id
     LEFT JOIN string al ON al.id = c.algorithm_id LEFT JOIN string pr ON pr.id = c.protocol_id
     LEFT JOIN (SELECT l.process_id, l.external_id, k.id, k.start_ns, k.duration_ns, k.stream_id
                FROM correlation_link l JOIN kernel k ON k.process_id = l.process_id AND k.correlation = l.correlation) k
       ON k.process_id = c.process_id AND k.external_id = c.external_id
     LEFT JOIN stream st ON st.id = k.stream_id;

-- freed_ns: null while live, duration_ns then too; address, bytes; space: 'device' 'pinned' 'managed' …, of memory snapshots also
-- 'reserved' (held from the driver) and 'pending_free'; name, category: what the program called it, else the place that allocated it;
-- requested_bytes: asked for, before rounding; stack_id: of view stacks; from_pool: 1 for cudaMallocAsync; correlation: of the allocating call. category_source: 'declared' when the
-- program named the memory, else null with category 'unattributed'.
CREATE VIEW allocations AS
SELECT a.id, p.rank, a.process_id, a.start_ns, f.start_ns - a.start_ns AS duration_ns, coalesce(s.text, w.text, '') AS name, a.address, a.bytes,
       f.start_ns AS freed_ns, a.space, d.ordinal AS device, coalesce(g.category, 'unattributed') AS category,
       CASE WHEN g.id IS NULL THEN NULL ELSE 'declared' END AS category_source, a.from_pool, a.stream_id, a.correlation,
       i.requested_bytes, i.stack_id
FROM allocation a JOIN process p ON p.id = a.process_id LEFT JOIN deallocation f ON f.allocation_id = a.id
     LEFT JOIN device d ON d.id = a.device_id
     LEFT JOIN memory_region g ON g.id = (
       SELECT r.id FROM memory_region r
       WHERE r.process_id = a.process_id AND r.address = a.address AND r.start_ns >= a.start_ns
         AND (f.start_ns IS NULL OR r.start_ns < f.start_ns)
       ORDER BY r.start_ns LIMIT 1)
     LEFT JOIN string s ON s.id = g.name_id LEFT JOIN allocation_detail i ON i.allocation_id = a.id
     LEFT JOIN stack k ON k.id = i.stack_id LEFT JOIN string w ON w.id = k.name_id;

-- Call stacks, a row per frame. name: the place that stands for the stack ('file.py:12 function'); depth: 0 is the innermost frame;
-- line: 0 when it is not known.
CREATE VIEW stacks AS
SELECT f.stack_id, n.text AS name, f.depth, fn.text AS function, fl.text AS file, f.line
FROM stack_frame f JOIN stack k ON k.id = f.stack_id JOIN string n ON n.id = k.name_id JOIN string fn ON fn.id = f.function_id
     JOIN string fl ON fl.id = f.file_id;

-- Collectives as a flight recorder saw them. name: the framework's; state: 'scheduled' 'started' 'completed'; sequence: of the group;
-- p2p_sequence: of sends and receives, counted by each rank; started_ns, completed_ns: when the framework noticed; sizes: of the tensors;
-- place: who called it.
CREATE VIEW collective_states AS
SELECT c.id, p.rank, c.process_id, c.start_ns, n.text AS name, o.text AS operation, s.state, cn.text AS communicator_name,
       cm.hash AS communicator, c.sequence, s.p2p_sequence, s.started_ns, s.completed_ns, s.timeout_ns, i.text AS input_sizes,
       u.text AS output_sizes, w.text AS place, s.stack_id
FROM collective_state s JOIN collective c ON c.id = s.collective_id JOIN process p ON p.id = c.process_id
     JOIN string n ON n.id = s.name_id JOIN string o ON o.id = c.operation_id JOIN string i ON i.id = s.input_sizes_id
     JOIN string u ON u.id = s.output_sizes_id LEFT JOIN communicator cm ON cm.id = c.communicator_id
     LEFT JOIN string cn ON cn.id = cm.name_id LEFT JOIN stack k ON k.id = s.stack_id LEFT JOIN string w ON w.id = k.name_id;

-- What a benchmark (nccl-tests) measured. name: the operation; source: its file; bytes: as in collectives; in_place: 1 or 0;
-- wrong: wrong results, null when they were not checked.
CREATE VIEW collective_benchmarks AS
SELECT b.id, o.text AS name, o.text AS operation, b.bytes, b.duration_ns, b.algbw_bytes_per_s, b.busbw_bytes_per_s, b.in_place,
       t.text AS datatype, r.text AS reduction, b.element_count, b.n_ranks, b.n_hosts, d.text AS device_name, b.wrong, s.text AS source
FROM collective_benchmark b JOIN string s ON s.id = b.source_id JOIN string o ON o.id = b.operation_id
     JOIN string t ON t.id = b.datatype_id JOIN string r ON r.id = b.reduction_id JOIN string d ON d.id = b.device_name_id;

-- severity: 'error' (data is missing), 'warning' (data is doubtful), 'info'; lane: the plugin, 'agent' or 'recorder'; name: a stable
-- code for programs; count: how often; message: for people.
CREATE VIEW diagnostics AS
SELECT g.id, p.rank, g.process_id, g.start_ns, g.severity, g.lane, g.code AS name, g.count, g.message
FROM diagnostic g LEFT JOIN process p ON p.id = g.process_id;
