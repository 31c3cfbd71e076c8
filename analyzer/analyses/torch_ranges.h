// SPDX-License-Identifier: Apache-2.0
// The ranges of torch.autograd.profiler.emit_nvtx, which bear numbers that differ from call to call:
// "aten::mm, seq = 12, op_id = 34, sizes = [[4, 3], [3, 5]]".
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyzer/trace/trace.h"

namespace plumb {

struct TorchRangeName {
  std::string_view name;   // "aten::mm"
  std::string_view sizes;  // "[[4, 3], [3, 5]]"; empty: none told
};
// Any other name is its own.
[[nodiscard]] TorchRangeName torchRangeName(std::string_view text);

// Gives ranges that differ in such numbers only one id.
class PlainRangeNames {
 public:
  // The trace must outlive it.
  explicit PlainRangeNames(Trace& trace) : m_trace(trace) {}
  // Of the plain name, where the file has it, else of the first such range asked for: show it with torchRangeName().
  [[nodiscard]] StringId of(StringId name);

 private:
  Trace& m_trace;
  std::unordered_map<StringId, StringId> m_plain;
  std::unordered_map<std::string, StringId> m_first;
};

}  // namespace plumb
