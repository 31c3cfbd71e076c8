-- SPDX-License-Identifier: Apache-2.0
-- THE trace format. Every table and column exists here and nowhere else; the writer, the reader and the
-- reference page (REFERENCE.md) are derived from this file. Changes are listed in CHANGES.md and raise schema::kVersion.
--
-- Conventions
--   *_ns        integer nanoseconds since the session's start (meta 'session_start_realtime_ns'), one clock per file
--   duration_ns end - start; half-open [start_ns, start_ns + duration_ns)
--   *_bytes     bytes
--   *_id        integer key of the table of that name; text is stored once, in string
--   correlation CUPTI's correlation id, unique within one process
--   external_id Plumbline's own id of a host-side cause (collective, library call), unique within one process;
--               correlation_link ties it to the correlation ids of the work that was launched under it
-- Event rows are only ever appended, so a file whose recorder was killed is a valid file.

-- One fact about the file a row: schema_version, session_start_realtime_ns, session_start_monotonic_ns, host,
-- command, recorder_version, plumb_version, complete ('1' once the recorder has finished and built the indexes).
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- Every text, once. Id 0 is the empty text.
CREATE TABLE string (
  id   INTEGER PRIMARY KEY,
  text TEXT NOT NULL
);

-- A process that was recorded; one per rank. rank is RANK, else OMPI_COMM_WORLD_RANK, SLURM_PROCID, else null.
CREATE TABLE process (
  id              INTEGER PRIMARY KEY,
  pid             INTEGER NOT NULL,
  parent_pid      INTEGER NOT NULL,
  host_id         INTEGER NOT NULL REFERENCES string(id),
  program_id      INTEGER NOT NULL REFERENCES string(id),  -- base name of the executable
  command_id      INTEGER NOT NULL REFERENCES string(id),  -- argv joined by blanks, cut at 4096 bytes
  rank            INTEGER,
  local_rank      INTEGER,
  world_size      INTEGER,
  start_ns        INTEGER NOT NULL,                        -- when the agent attached
  end_ns          INTEGER,                                 -- when it said goodbye; null: still running or killed
  ended           TEXT                                     -- 'exit' (goodbye said), 'lost' (connection ended without one), null: running
);

-- The named environment variables that explain a run (RANK, WORLD_SIZE, NCCL_*, CUDA_VISIBLE_DEVICES …); never a dump.
-- Of an imported trace: what it says of how it was recorded, under 'trace.' and the source's name ('trace.with_stack').
CREATE TABLE process_variable (
  process_id INTEGER NOT NULL REFERENCES process(id),
  name_id    INTEGER NOT NULL REFERENCES string(id),
  value_id   INTEGER NOT NULL REFERENCES string(id)
);

CREATE TABLE thread (
  id         INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL REFERENCES process(id),
  tid        INTEGER NOT NULL,                             -- the operating system's thread id
  name_id    INTEGER REFERENCES string(id)
);

-- A device as one process sees it.
CREATE TABLE device (
  id                     INTEGER PRIMARY KEY,
  process_id             INTEGER NOT NULL REFERENCES process(id),
  ordinal                INTEGER NOT NULL,                 -- CUPTI's device id
  name_id                INTEGER NOT NULL REFERENCES string(id),
  kind                   TEXT NOT NULL,                    -- 'gpu', or 'software': durations are CPU time, not comparable with hardware
  uuid                   TEXT,                             -- 32 hex digits
  compute_major          INTEGER,
  compute_minor          INTEGER,
  multiprocessor_count   INTEGER,
  memory_bytes           INTEGER,
  memory_bandwidth_bytes_per_s INTEGER,                    -- datasheet: from the device's properties
  core_clock_hz          INTEGER,
  max_threads_per_multiprocessor INTEGER
);

-- A roof of the roofline: FLOP/s of one unit or bytes/s of the memory.
CREATE TABLE device_roof (
  process_id INTEGER NOT NULL REFERENCES process(id),
  ordinal    INTEGER NOT NULL,
  resource   TEXT NOT NULL,                                -- 'fp64' 'fp32' 'tf32' 'fp16' 'bf16' 'fp8' (FLOP/s), 'memory' 'network' (bytes/s)
  per_second REAL NOT NULL,
  source     TEXT NOT NULL                                 -- 'datasheet' or 'measured'
);

CREATE TABLE stream (
  id         INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL REFERENCES process(id),
  device_id  INTEGER REFERENCES device(id),
  context    INTEGER NOT NULL,                             -- CUPTI's context id
  number     INTEGER NOT NULL,                             -- CUPTI's stream id
  priority   INTEGER,
  kind       TEXT,                                         -- 'default' 'blocking' 'non-blocking' …; null: not known
  name_id    INTEGER REFERENCES string(id)                 -- given by the program through NVTX
);

CREATE TABLE kernel (
  id                   INTEGER PRIMARY KEY,
  process_id           INTEGER NOT NULL REFERENCES process(id),
  device_id            INTEGER NOT NULL REFERENCES device(id),
  stream_id            INTEGER NOT NULL REFERENCES stream(id),
  start_ns             INTEGER NOT NULL,
  duration_ns          INTEGER NOT NULL,
  name_id              INTEGER NOT NULL REFERENCES string(id),  -- demangled
  short_name_id        INTEGER NOT NULL REFERENCES string(id),  -- demangled, no return type, namespaces, template arguments or parameters
  mangled_name_id      INTEGER NOT NULL REFERENCES string(id),
  correlation          INTEGER NOT NULL,
  grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL,
  block_x INTEGER NOT NULL, block_y INTEGER NOT NULL, block_z INTEGER NOT NULL,
  registers_per_thread INTEGER NOT NULL,
  static_shared_bytes  INTEGER NOT NULL,
  dynamic_shared_bytes INTEGER NOT NULL,
  local_bytes_per_thread INTEGER NOT NULL,
  graph_id             INTEGER,                            -- executable graph; null: a plain launch
  graph_node_id        INTEGER,
  flags                INTEGER NOT NULL                    -- event flags, below
);
-- Event flags (kernel, memory_copy, memory_set): 1 no usable time (CUPTI gave 0 or end < start; counted in diagnostic,
-- left out of interval arithmetic) · 2 launched from a graph · 4 no kernel but one launch of a whole graph, recorded
-- instead of the work in it.

CREATE TABLE memory_copy (
  id           INTEGER PRIMARY KEY,
  process_id   INTEGER NOT NULL REFERENCES process(id),
  device_id    INTEGER NOT NULL REFERENCES device(id),
  stream_id    INTEGER NOT NULL REFERENCES stream(id),
  start_ns     INTEGER NOT NULL,
  duration_ns  INTEGER NOT NULL,
  bytes        INTEGER NOT NULL,
  copy_kind    INTEGER NOT NULL,                           -- CUpti_ActivityMemcpyKind: 1 HtoD 2 DtoH 8 DtoD 9 HtoH 10 PtoP …
  source_kind  INTEGER NOT NULL,                           -- CUpti_ActivityMemoryKind: 1 pageable 2 pinned 3 device 4 array 5 managed …
  target_kind  INTEGER NOT NULL,
  is_async     INTEGER NOT NULL,
  correlation  INTEGER NOT NULL,
  graph_id     INTEGER,
  graph_node_id INTEGER,
  flags        INTEGER NOT NULL
);

CREATE TABLE memory_set (
  id          INTEGER PRIMARY KEY,
  process_id  INTEGER NOT NULL REFERENCES process(id),
  device_id   INTEGER NOT NULL REFERENCES device(id),
  stream_id   INTEGER NOT NULL REFERENCES stream(id),
  start_ns    INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  value       INTEGER NOT NULL,
  memory_kind INTEGER NOT NULL,
  is_async    INTEGER NOT NULL,
  correlation INTEGER NOT NULL,
  graph_id    INTEGER,
  graph_node_id INTEGER,
  flags       INTEGER NOT NULL
);

-- Host-side calls of the CUDA runtime and driver.
CREATE TABLE api_call (
  id          INTEGER PRIMARY KEY,
  process_id  INTEGER NOT NULL REFERENCES process(id),
  thread_id   INTEGER NOT NULL REFERENCES thread(id),
  start_ns    INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,
  name_id     INTEGER NOT NULL REFERENCES string(id),
  layer       TEXT NOT NULL,                               -- 'runtime' or 'driver'
  correlation INTEGER NOT NULL,
  result      INTEGER NOT NULL                             -- 0 success, else the API's error code
);

-- Host waits, as CUPTI saw them. Never GPU work.
CREATE TABLE synchronization (
  id          INTEGER PRIMARY KEY,
  process_id  INTEGER NOT NULL REFERENCES process(id),
  stream_id   INTEGER REFERENCES stream(id),
  start_ns    INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,
  kind        INTEGER NOT NULL,                            -- CUpti_ActivitySynchronizationType: 1 event 2 stream-wait-event 3 stream 4 context
  event_id    INTEGER,                                     -- CUPTI's event id
  correlation INTEGER NOT NULL
);

-- NVTX ranges and marks.
CREATE TABLE range (
  id            INTEGER PRIMARY KEY,
  process_id    INTEGER NOT NULL REFERENCES process(id),
  thread_id     INTEGER NOT NULL REFERENCES thread(id),    -- where it was opened
  end_thread_id INTEGER REFERENCES thread(id),             -- where a start/end range was closed, if elsewhere
  start_ns      INTEGER NOT NULL,
  duration_ns   INTEGER,                                   -- null: still open when the recording ended, or its end was lost (diagnostic)
  kind          TEXT NOT NULL,                             -- 'push_pop' 'start_end' 'mark'
  depth         INTEGER NOT NULL,                          -- push_pop: ranges open around it on its thread, over all domains; else 0
  parent_id     INTEGER REFERENCES range(id),              -- enclosing push_pop range of its thread. May point forward: rows are written when ranges end
  domain_id     INTEGER NOT NULL REFERENCES string(id),    -- 0: the default domain
  name_id       INTEGER NOT NULL REFERENCES string(id),
  category_id   INTEGER REFERENCES string(id),
  color_argb    INTEGER
);

-- One field of a range's payload (NVTX extended payload, or the plain 64-bit payload under the name 'payload').
CREATE TABLE range_payload (
  range_id INTEGER NOT NULL REFERENCES range(id),
  name_id  INTEGER NOT NULL REFERENCES string(id),
  value    NOT NULL                                        -- INTEGER, REAL or TEXT
);

CREATE TABLE communicator (
  id         INTEGER PRIMARY KEY,
  process_id INTEGER NOT NULL REFERENCES process(id),
  hash       INTEGER NOT NULL,                             -- NCCL's communicator id: the same on every rank of it
  name_id    INTEGER REFERENCES string(id),
  n_ranks    INTEGER NOT NULL,
  rank       INTEGER NOT NULL,                             -- of this process in this communicator
  n_nodes    INTEGER NOT NULL
);

-- One collective or point-to-point operation of one rank, as NCCL enqueued it. Its device time is that of its kernel.
CREATE TABLE collective (
  id              INTEGER PRIMARY KEY,
  process_id      INTEGER NOT NULL REFERENCES process(id),
  thread_id       INTEGER NOT NULL REFERENCES thread(id),
  communicator_id INTEGER REFERENCES communicator(id),
  start_ns        INTEGER NOT NULL,                        -- host side: the API call
  duration_ns     INTEGER NOT NULL,                        -- host side: enqueueing, not the transfer
  sequence        INTEGER NOT NULL,                        -- NCCL's sequence number: (communicator hash, operation, sequence) matches ranks; -1: NCCL gave none
  operation_id    INTEGER NOT NULL REFERENCES string(id),  -- AllReduce AllGather ReduceScatter Broadcast Reduce Send Recv …
  datatype_id     INTEGER NOT NULL REFERENCES string(id),  -- the caller's: ncclFloat32 …
  element_count   INTEGER NOT NULL,                        -- the caller's count argument
  bytes           INTEGER NOT NULL,                        -- NCCL's convention: count * size; all-gather and reduce-scatter: n_ranks * count * size
  root            INTEGER,
  peer            INTEGER,                                 -- Send, Recv
  algorithm_id    INTEGER REFERENCES string(id),           -- RING TREE …
  protocol_id     INTEGER REFERENCES string(id),           -- LL LL128 SIMPLE
  channels        INTEGER,
  stream_handle   INTEGER,                                 -- the cudaStream_t, for matching only
  external_id     INTEGER                                  -- of the launch that carries it; several collectives of one group can share it
);

-- A call of a math library with its problem's shape.
CREATE TABLE library_call (
  id              INTEGER PRIMARY KEY,
  process_id      INTEGER NOT NULL REFERENCES process(id),
  thread_id       INTEGER NOT NULL REFERENCES thread(id),
  start_ns        INTEGER NOT NULL,
  duration_ns     INTEGER NOT NULL,
  name_id         INTEGER NOT NULL REFERENCES string(id),  -- cublasGemmEx …
  m INTEGER NOT NULL, n INTEGER NOT NULL, k INTEGER NOT NULL,
  batch           INTEGER NOT NULL,
  transpose_a     INTEGER NOT NULL, transpose_b INTEGER NOT NULL,
  datatype_a_id   INTEGER NOT NULL REFERENCES string(id),  -- fp64 fp32 tf32 fp16 bf16 fp8 int8 …
  datatype_b_id   INTEGER NOT NULL REFERENCES string(id),
  datatype_c_id   INTEGER NOT NULL REFERENCES string(id),
  compute_type_id INTEGER NOT NULL REFERENCES string(id),  -- the unit the roofline compares with: fp32 tf32 fp16 bf16 …
  flops           REAL NOT NULL,                           -- 2 m n k batch
  bytes           REAL NOT NULL,                           -- operands read once and the result written once: a lower bound
  external_id     INTEGER NOT NULL
);

-- What was launched inside a host-side cause.
CREATE TABLE correlation_link (
  process_id  INTEGER NOT NULL REFERENCES process(id),
  external_id INTEGER NOT NULL,
  correlation INTEGER NOT NULL
);

-- A device (or pinned host) allocation, from the driver's side.
CREATE TABLE allocation (
  id          INTEGER PRIMARY KEY,
  process_id  INTEGER NOT NULL REFERENCES process(id),
  device_id   INTEGER REFERENCES device(id),
  stream_id   INTEGER REFERENCES stream(id),               -- stream-ordered allocations
  start_ns    INTEGER NOT NULL,
  address     INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  space       TEXT NOT NULL,                               -- 'device' 'pinned' 'managed' 'pageable' …
  from_pool   INTEGER NOT NULL,                            -- 1: cudaMallocAsync, or handed out by a framework's caching allocator
  correlation INTEGER
);

CREATE TABLE deallocation (
  allocation_id INTEGER PRIMARY KEY REFERENCES allocation(id),
  start_ns      INTEGER NOT NULL,
  correlation   INTEGER
);

-- A named piece of memory (NVTX memory naming, or a framework's adapter). It may be a part of an allocation.
CREATE TABLE memory_region (
  id          INTEGER PRIMARY KEY,
  process_id  INTEGER NOT NULL REFERENCES process(id),
  start_ns    INTEGER NOT NULL,
  address     INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  name_id     INTEGER NOT NULL REFERENCES string(id),
  category    TEXT NOT NULL                                -- one of memory_category, from the part of the name before the first '/'
);
CREATE TABLE memory_region_end (
  region_id INTEGER PRIMARY KEY REFERENCES memory_region(id),
  start_ns  INTEGER NOT NULL
);
-- The categories, in the order in which charts stack them.
CREATE TABLE memory_category (
  name        TEXT PRIMARY KEY,
  position    INTEGER NOT NULL,
  description TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO memory_category VALUES
  ('parameter', 0, 'weights, sharded or whole'),
  ('gradient', 1, 'gradients of weights'),
  ('optimizer_state', 2, 'moments and master copies that the optimizer keeps'),
  ('activation', 3, 'results kept for the backward pass and their gradients'),
  ('input', 4, 'batches'),
  ('communication_buffer', 5, 'gathered weights, buckets, staging of collectives'),
  ('workspace', 6, 'scratch of libraries and kernels'),
  ('cached', 7, 'held by a caching allocator, not handed out'),
  ('unattributed', 8, 'not named by the program');

-- A named number over time (device counters, loss, loss scale …).
CREATE TABLE counter_sample (
  process_id INTEGER NOT NULL REFERENCES process(id),
  start_ns   INTEGER NOT NULL,
  name_id    INTEGER NOT NULL REFERENCES string(id),
  value      REAL NOT NULL
);

-- The same instant on the clocks involved, for checking and for aligning hosts.
CREATE TABLE clock_pair (
  process_id   INTEGER NOT NULL REFERENCES process(id),
  monotonic_ns INTEGER NOT NULL,                           -- CLOCK_MONOTONIC_RAW
  realtime_ns  INTEGER NOT NULL,                           -- CLOCK_REALTIME
  cupti_ns     INTEGER                                     -- cuptiGetTimestamp; null: no CUPTI
);

-- The latest word on each: a plugin is on when it has started, later names the library that it bound to, or goes off.
CREATE TABLE plugin (
  process_id INTEGER NOT NULL REFERENCES process(id),
  name       TEXT NOT NULL,                                -- the lane: cupti nvtx nccl memory cublas …
  version    TEXT NOT NULL,
  library    TEXT,                                         -- the vendor library it bound to, with its version
  state      TEXT NOT NULL,                                -- 'on', 'off' (diagnostic says why)
  UNIQUE (process_id, name) ON CONFLICT REPLACE
);

-- What was lost, failed or is doubtful; message is for the user.
CREATE TABLE diagnostic (
  id         INTEGER PRIMARY KEY,
  process_id INTEGER REFERENCES process(id),               -- null: the recorder itself
  start_ns   INTEGER NOT NULL,
  severity   TEXT NOT NULL,                                -- 'error' (data missing) 'warning' (data doubtful) 'info'
  lane       TEXT NOT NULL,                                -- the plugin's name, 'agent', 'recorder', 'import'
  code       TEXT NOT NULL,                                -- stable, for programs: ring_full, lane_off, bad_time …
  count      INTEGER NOT NULL,
  message    TEXT NOT NULL
);

/* === Added later: a file without these tables is read as if they were empty. New tables go below this line. */

-- A call stack, stored once. The name is what people call the place: 'file.py:12 function' of the innermost frame that is
-- neither the framework's nor the allocator's, and after ' < ' those of up to two such frames that called it.
CREATE TABLE stack (
  id      INTEGER PRIMARY KEY,
  name_id INTEGER NOT NULL REFERENCES string(id)
);
-- The frames of a stack, Python's and C++'s.
CREATE TABLE stack_frame (
  stack_id    INTEGER NOT NULL REFERENCES stack(id),
  depth       INTEGER NOT NULL,                            -- 0: innermost
  function_id INTEGER NOT NULL REFERENCES string(id),
  file_id     INTEGER NOT NULL REFERENCES string(id),
  line        INTEGER NOT NULL,                            -- 0: not known
  PRIMARY KEY (stack_id, depth)
) WITHOUT ROWID;

-- What a framework's allocator said of an allocation beyond its row.
CREATE TABLE allocation_detail (
  allocation_id   INTEGER PRIMARY KEY REFERENCES allocation(id),
  requested_bytes INTEGER,                                 -- asked for by the program; allocation.bytes is rounded up
  stack_id        INTEGER REFERENCES stack(id)             -- who allocated it
);

-- The ranks of the run that are in a communicator, in its own order.
CREATE TABLE communicator_member (
  communicator_id INTEGER NOT NULL REFERENCES communicator(id),
  position        INTEGER NOT NULL,                        -- rank in the communicator
  rank            INTEGER NOT NULL,                        -- rank in the run
  PRIMARY KEY (communicator_id, position)
) WITHOUT ROWID;

-- How far a process came with a communicator, by the framework's own account when it was asked (flight recorder). The
-- numbers are sequence numbers of collectives; null: not told.
CREATE TABLE communicator_state (
  communicator_id INTEGER PRIMARY KEY REFERENCES communicator(id),
  name_id         INTEGER NOT NULL REFERENCES string(id),  -- what the framework calls it: '74'
  description_id  INTEGER NOT NULL REFERENCES string(id),  -- and what the program does: 'TENSOR_MODEL_PARALLEL_GROUP'
  last_enqueued   INTEGER,
  last_started    INTEGER,
  last_completed  INTEGER
);

-- How far a collective came, and what it was called with (flight recorder).
CREATE TABLE collective_state (
  collective_id   INTEGER PRIMARY KEY REFERENCES collective(id),
  name_id         INTEGER NOT NULL REFERENCES string(id),  -- the framework's: 'nccl:_all_gather_base'
  state           TEXT NOT NULL,                           -- 'scheduled' 'started' 'completed'
  p2p_sequence    INTEGER,                                 -- of sends and receives, counted by each rank; null: a collective
  started_ns      INTEGER,                                 -- when the framework noticed, which can be late
  completed_ns    INTEGER,
  timeout_ns      INTEGER,
  input_sizes_id  INTEGER NOT NULL REFERENCES string(id),  -- '4096x5120', several tensors joined by blanks
  output_sizes_id INTEGER NOT NULL REFERENCES string(id),
  stack_id        INTEGER REFERENCES stack(id)
);

-- What NCCL (its Inspector) or the framework (its flight recorder) measured of a collective, where there is no kernel.
CREATE TABLE collective_timing (
  collective_id     INTEGER PRIMARY KEY REFERENCES collective(id),
  duration_ns       INTEGER NOT NULL,
  source            TEXT NOT NULL,                         -- NCCL's: 'kernel_gpu' 'kernel_cpu' 'collective_cpu'; 'cuda_events'; '': not told
  algbw_bytes_per_s REAL,
  busbw_bytes_per_s REAL
);

-- A measured reference: what a benchmark (nccl-tests) reached on some machine.
CREATE TABLE collective_benchmark (
  id                INTEGER PRIMARY KEY,
  source_id         INTEGER NOT NULL REFERENCES string(id),  -- name of its file
  operation_id      INTEGER NOT NULL REFERENCES string(id),  -- AllReduce AllGather …
  datatype_id       INTEGER NOT NULL REFERENCES string(id),
  reduction_id      INTEGER NOT NULL REFERENCES string(id),  -- sum …, '' for none
  device_name_id    INTEGER NOT NULL REFERENCES string(id),
  n_ranks           INTEGER NOT NULL,
  n_hosts           INTEGER NOT NULL,
  bytes             INTEGER NOT NULL,                      -- of the whole collective, as in collective.bytes
  element_count     INTEGER NOT NULL,
  in_place          INTEGER NOT NULL,
  duration_ns       INTEGER NOT NULL,
  algbw_bytes_per_s REAL NOT NULL,                         -- as printed, two digits behind the point of GB/s
  busbw_bytes_per_s REAL NOT NULL,
  wrong             INTEGER                                -- results that were wrong; null: not checked
);

-- A call of a framework's operator (aten::mm …) on the host, from an imported trace. Self time is its duration without
-- that of the rows whose parent it is; GPU time is that of the work which operator_launch names.
CREATE TABLE operator (
  id          INTEGER PRIMARY KEY,
  process_id  INTEGER NOT NULL REFERENCES process(id),
  thread_id   INTEGER NOT NULL REFERENCES thread(id),
  start_ns    INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,
  name_id     INTEGER NOT NULL REFERENCES string(id),
  parent_id   INTEGER REFERENCES operator(id),             -- innermost operator of its thread that holds it. May point forward
  argument_set_id INTEGER REFERENCES operator_argument_set(id), -- null: nothing is said of its arguments
  sequence    INTEGER,                                     -- torch's sequence number: the same of a forward operator and of those of its backward
  forward_thread INTEGER,                                  -- backward operators: torch's number of the thread of the forward one; else null
  external_id INTEGER                                      -- the source's own id of the call ("External id")
);

-- Which operator launched the kernels, copies and sets of a correlation id: the innermost one around the call.
CREATE TABLE operator_launch (
  process_id  INTEGER NOT NULL REFERENCES process(id),
  correlation INTEGER NOT NULL,
  operator_id INTEGER NOT NULL REFERENCES operator(id),
  PRIMARY KEY (process_id, correlation)
) WITHOUT ROWID;

-- What is said of an operator's arguments, once per different set. Texts are JSON arrays with an element per argument;
-- 0 or null: not said.
CREATE TABLE operator_argument_set (
  id         INTEGER PRIMARY KEY,
  dims_id    INTEGER NOT NULL REFERENCES string(id),       -- [[64, 3], [], …]
  types_id   INTEGER NOT NULL REFERENCES string(id),       -- ["float", "Scalar", …]
  strides_id INTEGER NOT NULL REFERENCES string(id),
  values_id  INTEGER NOT NULL REFERENCES string(id),       -- of scalars: ["", "1", …]
  other_id   INTEGER NOT NULL REFERENCES string(id)        -- everything else, a JSON object: call stack, module, Triton kernel …
);

-- A call of a Python function, from an imported trace.
CREATE TABLE python_call (
  id          INTEGER PRIMARY KEY,
  process_id  INTEGER NOT NULL REFERENCES process(id),
  thread_id   INTEGER NOT NULL REFERENCES thread(id),
  start_ns    INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,
  name_id     INTEGER NOT NULL REFERENCES string(id),      -- file(line): function
  parent_id   INTEGER REFERENCES python_call(id)           -- its caller, as the source says. May be missing in a file that was cut
);

-- An arrow of the source: what at one end leads to what is at the other. The arrows between a launch and its work are not
-- here where both have a correlation id.
CREATE TABLE flow (
  process_id       INTEGER NOT NULL REFERENCES process(id),
  name_id          INTEGER NOT NULL REFERENCES string(id), -- 'fwdbwd': from an operator to that of its backward
  source_thread_id INTEGER NOT NULL REFERENCES thread(id),
  source_start_ns  INTEGER NOT NULL,                       -- start of the event that it begins at
  target_thread_id INTEGER NOT NULL REFERENCES thread(id),
  target_start_ns  INTEGER NOT NULL
);

-- What a framework said of a collective beyond its row; null: not said.
CREATE TABLE collective_detail (
  collective_id    INTEGER PRIMARY KEY REFERENCES collective(id),
  input_elements   INTEGER,                                -- of this rank
  output_elements  INTEGER,
  input_splits_id  INTEGER REFERENCES string(id),          -- per rank, for uneven all-to-all: '[1024, 2048]'
  output_splits_id INTEGER REFERENCES string(id),
  is_async         INTEGER,                                -- 1: the caller went on without waiting
  operator_id      INTEGER REFERENCES operator(id)         -- that enqueued it
);

-- The event that a synchronization waits for: where it was recorded.
CREATE TABLE synchronization_event (
  synchronization_id   INTEGER PRIMARY KEY REFERENCES synchronization(id),
  recorded_stream_id   INTEGER REFERENCES stream(id),
  recorded_correlation INTEGER                             -- of the call that recorded it; null: not known
);

-- A call of the operating system's library on the host (poll, read, pthread_mutex_lock …), from an imported trace. Such
-- calls are made inside CUDA calls and ranges too: they tell what a thread waited for.
CREATE TABLE os_call (
  id          INTEGER PRIMARY KEY,
  process_id  INTEGER NOT NULL REFERENCES process(id),
  thread_id   INTEGER NOT NULL REFERENCES thread(id),
  start_ns    INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,
  name_id     INTEGER NOT NULL REFERENCES string(id),
  result      INTEGER NOT NULL,                            -- as the function returned it
  stack_id    INTEGER REFERENCES stack(id)                 -- who called it
);

-- Who made an API call, where its call stack was recorded.
CREATE TABLE api_call_stack (
  api_call_id INTEGER PRIMARY KEY REFERENCES api_call(id),
  stack_id    INTEGER NOT NULL REFERENCES stack(id)
);

-- An event recorded into a stream (cudaEventRecord); what waits for it is in synchronization and synchronization_event.
CREATE TABLE event_record (
  id          INTEGER PRIMARY KEY,
  process_id  INTEGER NOT NULL REFERENCES process(id),
  stream_id   INTEGER NOT NULL REFERENCES stream(id),
  start_ns    INTEGER,                                     -- when the device came to it; null: not recorded
  event_id    INTEGER NOT NULL,                            -- CUPTI's event id
  sync_id     INTEGER,                                     -- CUPTI's id of this record of the event; null: not told
  correlation INTEGER NOT NULL
);

-- The bandwidth of a copy or a set in the source's own words, where it is not bytes / duration_ns: sources that keep whole
-- microseconds computed it from the nanoseconds.
CREATE TABLE memory_copy_bandwidth (
  memory_copy_id INTEGER PRIMARY KEY REFERENCES memory_copy(id),
  gb_per_s       REAL NOT NULL                             -- bytes per nanosecond
);
CREATE TABLE memory_set_bandwidth (
  memory_set_id INTEGER PRIMARY KEY REFERENCES memory_set(id),
  gb_per_s      REAL NOT NULL
);
