// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/step_list.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace plumb::gui {

std::vector<StepSpan> stepSpans(const TraceData& data) {
  std::map<int64_t, TimeSpan> spans;
  const auto add = [&](int64_t number, double start, double end) {
    const auto [span, added] = spans.try_emplace(number, TimeSpan{start, end});
    if (!added) span->second = {std::min(span->second.startNs, start), std::max(span->second.endNs, end)};
  };
  for (const timeline::Step& step : data.timeline->steps)
    add(step.number, static_cast<double>(step.window.startNs), static_cast<double>(step.window.endNs));
  if (spans.empty()) {
    for (const RankSteps& rank : data.steps) {
      for (const Step& step : rank.steps)
        add(step.number, static_cast<double>(step.host.start.ns()), static_cast<double>(step.host.end.ns()));
    }
  }
  std::vector<StepSpan> steps;
  for (const auto& [number, span] : spans) {
    const double margin = span.length() / 50;
    steps.push_back({number, {span.startNs - margin, span.endNs + margin}});
  }
  return steps;
}

std::optional<size_t> stepAt(const std::vector<StepSpan>& steps, double ns) {
  const auto distance = [ns](const StepSpan& step) { return std::abs((step.span.startNs + step.span.endNs) / 2 - ns); };
  const auto nearest = std::ranges::min_element(steps, {}, distance);
  if (nearest == steps.end()) return std::nullopt;
  return static_cast<size_t>(nearest - steps.begin());
}

}  // namespace plumb::gui
