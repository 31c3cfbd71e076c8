// SPDX-License-Identifier: Apache-2.0
// Whole pictures for --render: title, picture, legend, notes.
#pragma once
#include <QImage>
#include <QSize>
#include <optional>

#include "analyzer/trace/filter.h"
#include "gui/async/trace_data.h"

namespace plumb::gui {

enum class Picture { kTimeline, kMemory, kRoofline };

struct RenderOptions {
  Picture picture = Picture::kTimeline;
  std::optional<QSize> size;  // none: what the content needs
  Filter filter;              // no rank: all ranks (roofline: the first); TraceData must have been loaded with it
};

// An error when the trace has nothing of that kind or no such rank.
[[nodiscard]] Result<QImage> render(const TraceData& data, const RenderOptions& options);

}  // namespace plumb::gui
