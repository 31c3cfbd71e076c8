// SPDX-License-Identifier: Apache-2.0
// The ranges of torch.autograd.profiler.emit_nvtx, which bear numbers that differ from call to call:
// "aten::mm, seq = 12, op_id = 34, sizes = [[4, 3], [3, 5]]".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/trace/trace.h"

namespace plumb {

struct TorchRangeName {
  std::string_view name;   // "aten::mm"
  std::string_view sizes;  // "[[4, 3], [3, 5]]"; empty: none told
};
// Any other name is its own.
[[nodiscard]] TorchRangeName torchRangeName(std::string_view text);

// The names of the trace that are the name, or are it once such numbers are left out: what `plumb report ranges` calls
// so.
[[nodiscard]] Result<std::vector<StringId>> rangeNamesCalled(Trace& trace, std::string_view name);

// The same without the number of a step: "ProfilerStep" of "ProfilerStep#12", "step" of "step 12".
[[nodiscard]] std::string_view placeName(std::string_view text);

// Gives ranges that differ in such numbers only one id.
class PlainRangeNames {
 public:
  enum class Of : uint8_t { Ranges, Places };  // Places: steps are one place, too
  // The trace must outlive it.
  explicit PlainRangeNames(Trace& trace, Of what = Of::Ranges) : m_trace(trace), m_what(what) {}
  // Of the plain name, where the file has it, else of the first such range asked for: show it with torchRangeName(),
  // places with placeName().
  [[nodiscard]] StringId of(StringId name);

 private:
  Trace& m_trace;
  Of m_what;
  std::unordered_map<StringId, StringId> m_plain;
  std::unordered_map<std::string, StringId> m_first;
};

}  // namespace plumb
