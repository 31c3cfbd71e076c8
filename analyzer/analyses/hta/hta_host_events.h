// SPDX-License-Identifier: Apache-2.0
// What HolisticTraceAnalysis keeps of a rank's threads: operators, annotations, Python functions and API calls.
#pragma once
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "analyzer/analyses/hta/hta_trace.h"

namespace plumb::hta {

struct HostEvent {
  int64_t ts = 0, dur = 0;  // us
  ThreadId thread;
  StringId name;
  bool isNode = false;         // an operator or a call: its categories cpu_op, cuda_runtime and cuda_driver
  std::optional<size_t> call;  // index into Rank::calls
};

// Reads the host events of one rank after another. Where there are several, each costs its own rows only, as far as
// they stand together in the file.
class HostEvents {
 public:
  [[nodiscard]] static Result<HostEvents> open(Trace& trace, const Run& run);
  // In an order that has the outer one first of those of one time: annotations, Python functions, operators, calls.
  [[nodiscard]] Status forEach(const Rank& rank, const std::function<void(const HostEvent&)>& take) const;
  [[nodiscard]] size_t count(const Rank& rank) const;  // about how many, for a vector to reserve

 private:
  static constexpr size_t kTableCount = 3;
  struct Rows {
    int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();  // ids
    [[nodiscard]] bool isEmpty() const { return last < first; }
  };
  explicit HostEvents(Trace& trace) : m_trace(&trace) {}
  [[nodiscard]] Status findRows(size_t table);
  Trace* m_trace;
  bool m_isLimited = false;
  std::map<ProcessId, std::array<Rows, kTableCount>> m_rows;
  std::array<int64_t, kTableCount> m_counts{};
};

// What part of the trace an analysis is about, in its terms: the instance-th range whose name contains the annotation.
struct Annotation {
  std::string name;
  int64_t instance = 0;  // from 0, in the order of the file
};

struct Period {
  int64_t start = 0, end = 0;  // us; both belong to it
};

// None: the rank has no such range, or not so many.
[[nodiscard]] Result<std::optional<Period>> annotatedPeriod(Trace& trace, const Rank& rank,
                                                            const Annotation& annotation);
// The step's range on the host: ProfilerStep, or what the program calls its steps.
[[nodiscard]] Result<std::optional<Period>> stepPeriod(Trace& trace, const Rank& rank, int64_t step);

}  // namespace plumb::hta
