// SPDX-License-Identifier: Apache-2.0
// A trace as rules read it: a rank and a pid are one process, so that rules may join by them. Where a file has several
// processes of the same two (traces of one program at different times), the analyses give all but the first of them a
// negative pid, on a connection of its own.
#pragma once
#include <map>
#include <memory>
#include <optional>

#include "analyzer/trace/trace.h"

namespace plumb {

class RuleTrace {
 public:
  // `trace`, with the analyses and reports registered, must outlive it.
  [[nodiscard]] static Result<RuleTrace> open(Trace& trace);

  [[nodiscard]] Trace& trace() const { return m_own ? *m_own : *m_given; }
  // The pid that the rules know a process by, and the file's own.
  [[nodiscard]] int64_t pidInRules(const Process& process) const;
  [[nodiscard]] int64_t pidInFile(int64_t pidInRules) const;
  // Of a rank and a pid of the rules; none: no other process of the file has the same two.
  [[nodiscard]] std::optional<ProcessId> twin(std::optional<int64_t> rank, int64_t pidInRules) const;
  [[nodiscard]] bool hasTwins() const { return m_own != nullptr; }

 private:
  explicit RuleTrace(Trace& trace) : m_given(&trace) {}

  Trace* m_given;
  std::unique_ptr<Trace> m_own;  // a fixed address: its tables hold on to it
  std::map<ProcessId, int64_t> m_pids;
};

}  // namespace plumb
