// SPDX-License-Identifier: Apache-2.0
// Whether the ranks' times can be compared. Pure.
#pragma once
#include <QString>
#include <vector>

#include "gui/async/trace_data.h"
#include "gui/models/table_model.h"

namespace plumb::gui {

// That the processes do not share a clock, how far apart the clocks are, and what the pages do about it; "" when they
// share one, as far as is known.
[[nodiscard]] QString clockNote(const TraceData& data);

// A row for each clock.
[[nodiscard]] QStringList clockColumns();
[[nodiscard]] std::vector<std::vector<Cell>> clockRows(const TraceData& data);

}  // namespace plumb::gui
