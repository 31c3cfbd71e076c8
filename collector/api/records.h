// SPDX-License-Identifier: Apache-2.0
// What travels from a target process to the recorder: plain structs, written whole into the calling thread's ring.
// Each record kind becomes rows of the table named in its comment (collector/schema/tables.sql explains the columns).
//
// Rules: trivially copyable, size a multiple of 8, no pointers, no padding that is not named. Every record starts with
// RecordHeader. Texts are StringId: the 64-bit hash of the text, whose bytes travel once per process in a StringRecord
// (PlumbHost::intern does both). Times are nanoseconds of the clock that the header names.
#pragma once
#include <cstdint>
#include <type_traits>

namespace plumb {

enum class Clock : uint8_t {
  kMonotonicRaw = 0,  // CLOCK_MONOTONIC_RAW
  kCupti = 1,         // what cuptiGetTimestamp returns; converted by the process's ClockPairRecords
};

enum class RecordKind : uint8_t {
  kInvalid = 0,
  kString,               // StringRecord
  kThreadName,           // ThreadNameRecord
  kDevice,               // DeviceRecord
  kStream,               // StreamRecord
  kKernel,               // KernelRecord
  kMemoryCopy,           // MemoryCopyRecord
  kMemorySet,            // MemorySetRecord
  kApiCall,              // ApiCallRecord
  kSynchronization,      // SynchronizationRecord
  kAllocation,           // AllocationRecord
  kCorrelationLink,      // CorrelationLinkRecord
  kRangeBegin,           // RangeBeginRecord
  kRangeEnd,             // RangeEndRecord
  kPayloadField,         // PayloadFieldRecord
  kMemoryRegion,         // MemoryRegionRecord
  kMemoryRegionEnd,      // MemoryRegionEndRecord
  kCommunicator,         // CommunicatorRecord
  kCollective,           // CollectiveRecord
  kCollectiveDetail,     // CollectiveDetailRecord
  kLibraryCall,          // LibraryCallRecord
  kCounterSample,        // CounterSampleRecord
  kClockPair,            // ClockPairRecord
  kPlugin,               // PluginRecord
  kDiagnostic,           // DiagnosticRecord
  kCount
};

using StringId = uint64_t;  // 0: the empty text

struct RecordHeader {
  uint16_t size_bytes;  // of the whole record, header included
  RecordKind kind;
  Clock clock;
  uint32_t tid;  // the operating system's id of the thread the event belongs to
};

// string. The text follows the struct and is padded with zeros to a multiple of 8. Longest text: kMaxTextBytes.
struct StringRecord {
  RecordHeader header;
  StringId id;
  uint32_t length_bytes;
  uint32_t reserved;
};
inline constexpr uint32_t kMaxTextBytes = 16 * 1024;

// thread.name
struct ThreadNameRecord {
  RecordHeader header;
  StringId name;
};

enum class DeviceKind : uint32_t { kGpu = 0, kSoftware = 1 };

// device
struct DeviceRecord {
  RecordHeader header;
  StringId name;
  uint8_t uuid[16];
  uint64_t memory_bytes;
  uint64_t memory_bandwidth_bytes_per_s;
  uint64_t core_clock_hz;
  uint32_t ordinal;
  DeviceKind kind;
  uint32_t compute_major;
  uint32_t compute_minor;
  uint32_t multiprocessor_count;
  uint32_t max_threads_per_multiprocessor;
};

// stream
struct StreamRecord {
  RecordHeader header;
  uint32_t context;
  uint32_t number;
  uint32_t device_ordinal;
  int32_t priority;
  uint32_t kind;      // CUpti_ActivityStreamFlag; UINT32_MAX: not known
  uint32_t reserved;
  StringId name;      // 0: none
};

inline constexpr uint32_t kEventNoTime = 1;     // event flags, see kernel.flags in tables.sql
inline constexpr uint32_t kEventFromGraph = 2;

// kernel. name: the mangled name; the recorder demangles.
struct KernelRecord {
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  StringId name;
  uint64_t graph_node_id;  // 0: none
  uint32_t graph_id;       // 0: none
  uint32_t correlation;
  uint32_t device_ordinal;
  uint32_t context;
  uint32_t stream;
  uint32_t flags;
  int32_t grid[3];
  int32_t block[3];
  uint32_t registers_per_thread;
  uint32_t static_shared_bytes;
  uint32_t dynamic_shared_bytes;
  uint32_t local_bytes_per_thread;
};

// memory_copy
struct MemoryCopyRecord {
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  uint64_t bytes;
  uint64_t graph_node_id;
  uint32_t graph_id;
  uint32_t correlation;
  uint32_t device_ordinal;
  uint32_t context;
  uint32_t stream;
  uint32_t flags;
  uint32_t copy_kind;
  uint32_t source_kind;
  uint32_t target_kind;
  uint32_t is_async;
};

// memory_set
struct MemorySetRecord {
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  uint64_t bytes;
  uint64_t graph_node_id;
  uint32_t graph_id;
  uint32_t correlation;
  uint32_t device_ordinal;
  uint32_t context;
  uint32_t stream;
  uint32_t flags;
  uint32_t value;
  uint32_t memory_kind;
  uint32_t is_async;
  uint32_t reserved;
};

// api_call. header.tid is the calling thread. name: cuptiGetCallbackName's, without a version suffix (cudaLaunchKernel).
struct ApiCallRecord {
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  StringId name;
  uint32_t layer;  // 0 runtime, 1 driver
  uint32_t correlation;
  int32_t result;
  uint32_t reserved;
};

// synchronization
struct SynchronizationRecord {
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  uint32_t kind;
  uint32_t correlation;
  uint32_t context;
  uint32_t stream;    // UINT32_MAX: none
  uint32_t event_id;
  uint32_t reserved;
};

enum class MemorySpace : uint32_t { kUnknown = 0, kPageable, kPinned, kDevice, kManaged, kDeviceStatic };

// allocation (is_free 0) or deallocation (is_free 1; matched by address to the newest live allocation of the process)
struct AllocationRecord {
  RecordHeader header;
  int64_t time_ns;
  uint64_t address;
  uint64_t bytes;
  uint32_t is_free;
  MemorySpace space;
  uint32_t device_ordinal;
  uint32_t context;
  uint32_t stream;     // UINT32_MAX: not stream-ordered
  uint32_t from_pool;
  uint32_t correlation;
  uint32_t reserved;
};

// correlation_link
struct CorrelationLinkRecord {
  RecordHeader header;
  uint64_t external_id;
  uint32_t correlation;
  uint32_t reserved;
};

enum class RangeKind : uint32_t { kPushPop = 0, kStartEnd = 1, kMark = 2 };

// range: opened here, written when its end arrives (or, open, when its process is gone). header.tid is the thread.
// A kPushPop range carries its level: 1 + the ranges of its thread and domain that were open when it was pushed; its
// RangeEndRecord names the same level. So records that were dropped never make an end close somebody else's range. Level 0:
// not known (the end closes the innermost open range of its thread and domain).
struct RangeBeginRecord {
  RecordHeader header;
  int64_t time_ns;
  uint64_t range_id;   // kStartEnd: what RangeEnd names. kPushPop: the level, below. kMark: 0
  StringId domain;     // 0: the default domain
  StringId name;
  StringId category;   // 0: none
  RangeKind kind;
  uint32_t color_argb;  // 0: none
};

struct RangeEndRecord {
  RecordHeader header;
  int64_t time_ns;
  uint64_t range_id;
  StringId domain;
  RangeKind kind;
  uint32_t reserved;
};

enum class FieldType : uint32_t { kInteger = 0, kReal = 1, kText = 2 };

// range_payload: a field of the RangeBeginRecord that precedes it in the same ring (only payload fields between them).
struct PayloadFieldRecord {
  RecordHeader header;
  StringId name;
  union {
    int64_t integer;
    double real;
    StringId text;
  };
  FieldType type;
  uint32_t reserved;
};

// memory_region. category: from the name's part before the first '/', decided by the recorder.
struct MemoryRegionRecord {
  RecordHeader header;
  int64_t time_ns;
  uint64_t address;
  uint64_t bytes;
  StringId name;
};

struct MemoryRegionEndRecord {
  RecordHeader header;
  int64_t time_ns;
  uint64_t address;
};

// communicator
struct CommunicatorRecord {
  RecordHeader header;
  uint64_t hash;
  StringId name;
  int32_t n_ranks;
  int32_t rank;
  int32_t n_nodes;
  uint32_t reserved;
};

// collective, its API side: written when the call returns. event_id is unique in the process.
struct CollectiveRecord {
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  uint64_t event_id;
  uint64_t communicator_hash;
  StringId operation;
  StringId datatype;
  uint64_t element_count;
  uint64_t stream_handle;
  int32_t root;  // -1: none
  int32_t peer;  // -1: none
};

// collective, its enqueue side: completes the CollectiveRecord of the same event_id. It may come long after it or never.
struct CollectiveDetailRecord {
  RecordHeader header;
  uint64_t event_id;
  int64_t sequence;      // -1: none
  uint64_t external_id;  // 0: no launch seen
  StringId algorithm;    // 0: none
  StringId protocol;
  uint32_t channels;
  int32_t peer;  // Send, Recv: NCCL names the peer only when it enqueues; -1: none
};

// library_call. Types are texts such as "bf16".
struct LibraryCallRecord {
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  uint64_t external_id;
  StringId name;
  StringId datatype_a;
  StringId datatype_b;
  StringId datatype_c;
  StringId compute_type;
  double flops;
  double bytes;
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t batch;
  uint32_t transpose_a;
  uint32_t transpose_b;
};

// counter_sample
struct CounterSampleRecord {
  RecordHeader header;
  int64_t time_ns;
  StringId name;
  double value;
};

// clock_pair: one instant, read as close together as possible.
struct ClockPairRecord {
  RecordHeader header;
  int64_t monotonic_ns;
  int64_t realtime_ns;
  int64_t cupti_ns;  // 0: no CUPTI
};

// plugin
struct PluginRecord {
  RecordHeader header;
  StringId name;
  StringId version;
  StringId library;  // 0: none
  uint32_t is_on;
  uint32_t reserved;
};

enum class Severity : uint32_t { kInfo = 0, kWarning = 1, kError = 2 };

// diagnostic
struct DiagnosticRecord {
  RecordHeader header;
  int64_t time_ns;
  uint64_t count;
  StringId lane;
  StringId code;
  StringId message;
  Severity severity;
  uint32_t reserved;
};

// A header that is filled in for a record of type T.
template <class T>
constexpr RecordHeader makeHeader(RecordKind kind, uint32_t tid, Clock clock = Clock::kMonotonicRaw) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0);
  return RecordHeader{static_cast<uint16_t>(sizeof(T)), kind, clock, tid};
}

static_assert(sizeof(RecordHeader) == 8);
static_assert(sizeof(KernelRecord) == 104);
static_assert(sizeof(ApiCallRecord) == 48);
static_assert(sizeof(RangeBeginRecord) == 56);

}  // namespace plumb
