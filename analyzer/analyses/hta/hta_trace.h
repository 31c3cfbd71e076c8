// SPDX-License-Identifier: Apache-2.0
// A trace as HolisticTraceAnalysis (f4d0062) sees it after loading, for the reports of --definition hta, which exist so
// that its users can compare. Its rules, faults included, are kept apart from our own definitions:
//   times are whole microseconds: starts rounded up, ends down, so that a duration can be -1
//   GPU work is what bears a stream: waits of a stream too, and operators that name one among their arguments (Triton's
//   do, and are so counted beside the kernels that they launch)
//   the type of GPU work is told by its name
//   with two or more different ProfilerSteps in the run, all that was launched from the start of the last one on is
//   dropped, and so is GPU work without a launch in the trace; work whose launch has two calls of one correlation id
//   counts twice
// What the file does not keep of a source is lost here too: times that the source wrote as floating-point seconds since
// 1970 are rounded from the exact value.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb::hta {

enum class KernelType : uint8_t { Communication, Memory, Computation, Other };
[[nodiscard]] KernelType kernelTypeOf(std::string_view name);
[[nodiscard]] const char* nameOf(KernelType type);  // "COMPUTATION" …

enum class WorkKind : uint8_t { Kernel, Copy, Set, Wait, Operator };

inline constexpr int64_t kNoLaunch = std::numeric_limits<int64_t>::min();

struct Work {
  int64_t ts = 0, dur = 0;  // us
  int64_t stream = 0;
  int64_t correlation = 0;
  int64_t launch = kNoLaunch;  // us; start of the launching call, or of the source's first event
  double bandwidth = 0;        // GB/s of copies and sets: the source's, else bytes / duration
  uint32_t name = 0;           // index into Run::names
  uint32_t wait = 0;           // of waits only: index into Rank::waits
  KernelType type = KernelType::Other;
  WorkKind kind = WorkKind::Kernel;
  [[nodiscard]] int64_t end() const { return ts + dur; }
};

// What is told of a wait.
struct Wait {
  int64_t kind = 0;                     // CUpti_ActivitySynchronizationType
  std::optional<int64_t> recordedCall;  // correlation id of the call that recorded the event
  std::optional<int64_t> recordedStream;
};

struct Call {
  int64_t ts = 0, dur = 0;  // us
  int64_t correlation = 0;
  ThreadId thread;
  StringId nameId;
  bool isLaunch = false;  // of those in the launch statistics
  bool isQueued = false;  // of those that lengthen a stream's queue
};

struct Rank {
  ProcessId process;
  std::optional<int64_t> rank;
  std::vector<Work> work;             // in the order of the file
  std::vector<Work> deviceWaits;      // waits that bear no stream, which are left out of work; stream is -1
  std::vector<Wait> waits;            // of work and deviceWaits
  std::vector<Work> operators;        // that name a stream; they have no launch, and are left out of work
  std::vector<Call> calls;            // in the order of the file
  std::optional<int64_t> firstEvent;  // us; of the source
  std::vector<int64_t> steps;         // numbers of the ProfilerSteps that were kept
  std::optional<int64_t> end;         // us; start of the ProfilerStep that was dropped
};

// A query for operator_argument_set.id and the stream that it names, where one makes the operator GPU work.
inline constexpr std::string_view kArgumentsWithStream =
    "SELECT id, CAST(stream AS INTEGER) AS stream FROM (SELECT a.id, CASE WHEN json_valid(s.text) THEN"
    " json_extract(s.text, '$.stream') END AS stream FROM operator_argument_set a JOIN main.string s"
    " ON s.id = a.other_id WHERE instr(s.text, '\"stream\"') > 0)"
    " WHERE (typeof(stream) <> 'text' OR CAST(CAST(stream AS INTEGER) AS TEXT) = stream)"
    " AND CAST(stream AS INTEGER) <> -1";

struct Microseconds {
  int64_t ts, dur;
};
// Rounded as it rounds, in the source's own clock.
[[nodiscard]] Microseconds rounded(const Trace& trace, int64_t startNs, int64_t durationNs);

struct Run {
  std::vector<Rank> ranks;
  std::vector<std::string> names;
};

// A filter that limits the time leaves what HTA would see of a trace that holds only the events that begin inside it
// (analyses/windows.h).
[[nodiscard]] Result<Run> load(Trace& trace, const Filter& filter = {});

}  // namespace plumb::hta
