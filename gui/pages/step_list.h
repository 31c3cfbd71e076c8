// SPDX-License-Identifier: Apache-2.0
// The steps of a run as places to jump to. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "gui/async/trace_data.h"
#include "gui/timeline/time_scale.h"

namespace plumb::gui {

// A step on all ranks, with a little room around it.
struct StepSpan {
  int64_t number = 0;
  TimeSpan span;
};

// By number. Declared steps, or as soon as they are computed the repetitions of the kernels.
[[nodiscard]] std::vector<StepSpan> stepSpans(const TraceData& data);

// The step to whose middle an instant is nearest; none without steps.
[[nodiscard]] std::optional<size_t> stepAt(const std::vector<StepSpan>& steps, double ns);

}  // namespace plumb::gui
