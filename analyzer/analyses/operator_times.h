// SPDX-License-Identifier: Apache-2.0
// Operators: what a framework called (imported traces), and in our own recordings the library calls and the ranges that
// declare the work of an operation (payload `flops` or `bytes`), or that torch's emit_nvtx made of its operators
// ("aten::mm, seq = 12, op_id = 34, sizes = [[4, 3], [3, 5]]"). Library calls inside such a range are inside it.
//   self CPU   duration without that of the operators directly inside
//   self GPU   summed durations of the kernels, copies and sets that it launched itself; total: with the operators
//   inside
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/analyses/host_forest.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/statistics.h"
#include "analyzer/trace/filter.h"
#include "analyzer/trace/pair_hash.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class OperatorSource : uint8_t { Framework, Library, Range };

// One call of an operator.
struct OperatorCall {
  ProcessId process;
  OperatorSource source = OperatorSource::Framework;
  StringId name;      // nameOf() reads it: it may be only a part of a text of the trace
  int64_t shape = 0;  // framework: key of operator_argument_set; else what shapeOf() reads; 0: none
  ThreadId thread;
  TimePoint start;
  Duration cpu, cpuSelf;
  int64_t parent = -1;  // index of the innermost operator around it
};

// Every operator of a trace, and which one launched a piece of work.
class OperatorIndex {
 public:
  [[nodiscard]] static Result<OperatorIndex> load(Trace& trace);
  // At least those that begin when the filter keeps host events, and all inside these: enough for what is theirs.
  [[nodiscard]] static Result<OperatorIndex> load(Trace& trace, const EventFilter& kept);
  [[nodiscard]] const std::vector<OperatorCall>& calls() const { return m_calls; }
  [[nodiscard]] std::string_view nameOf(Trace& trace, StringId name) const;
  // Of a library call or range, for its `shape`: "m 64 n 32 k 16 bf16", "[[4, 3], [3, 5]]"; "" for 0.
  [[nodiscard]] std::string_view shapeOf(int64_t shape) const;
  // The innermost operator that launched it, as an index of calls().
  [[nodiscard]] std::optional<size_t> find(const LaunchedWork& work) const;
  // Whether that depends on the call of the work.
  [[nodiscard]] bool findsByCall() const { return !m_forest.nodes().empty(); }

 private:
  struct Key {
    int64_t process, value;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const { return pairHash(key.value, key.process); }
  };
  Status loadFramework(Trace& trace, std::optional<Interval> times);
  Status loadOwn(Trace& trace);
  Status loadLibraryCalls(Trace& trace, std::vector<HostNode>& nodes);
  Status loadTorchRanges(Trace& trace, std::vector<HostNode>& nodes);
  int64_t shapeNumber(std::string shape);
  void addNode(std::vector<HostNode>& nodes, OperatorCall call, int64_t depth);

  std::vector<OperatorCall> m_calls;
  std::vector<std::string> m_shapes;  // number 1 and on
  std::unordered_map<std::string, int64_t> m_shapeNumbers;
  std::vector<std::string> m_names;  // cut from longer texts: StringId -1, -2 …
  HostForest m_forest;               // of our own recordings' operators; payload: index
  std::unordered_map<Key, int64_t, KeyHash> m_byCorrelation;
};

// The times in which those begin that the filter keeps on the host, and all inside these; none: all times.
[[nodiscard]] Result<std::optional<Interval>> operatorTimes(Trace& trace, const EventFilter& kept);

enum class OperatorGrouping : uint8_t { Name, Shape };

// What stands for the GPU work of a process that no operator launched, as the kernels of a graph: it has no calls.
inline constexpr const char* kNoOperator = "none";
inline constexpr const char* kNoOperatorName = "(no operator)";

struct OperatorTotals {
  ProcessId process;
  const char* source = "";  // "framework", "library", "range", kNoOperator
  std::string name;
  std::string shape;  // Shape: of the operands; "": not known
  Sample cpu;
  Duration cpuSelf, gpuSelf, gpuTotal;
  int64_t gpuEventCount = 0;  // total
};

// Operators that begin in the filter's host windows; in order of rank, the longest self GPU time first.
[[nodiscard]] Result<std::vector<OperatorTotals>> totalOperators(Trace& trace, const Filter& filter,
                                                                 OperatorGrouping grouping);

}  // namespace plumb
