// SPDX-License-Identifier: Apache-2.0
// Sentences for what a recording cannot show, and why. Pure.
#pragma once
#include <QString>

#include "gui/async/trace_data.h"

namespace plumb::gui {

// Why a page or table is empty: "Cannot say …, because …".
[[nodiscard]] QString whyNoTimeline(const TraceData& data);
[[nodiscard]] QString whyNoBreakdown(const TraceData& data);
[[nodiscard]] QString whyNoSteps(const TraceData& data);
[[nodiscard]] QString whyNoCollectives(const TraceData& data);
[[nodiscard]] QString whyNoMemory(const TraceData& data);
[[nodiscard]] QString whyNoRoofline(const TraceData& data);

// What hangs, in one sentence; that nothing does, or why that cannot be said.
[[nodiscard]] QString stuckSentence(const TraceData& data);

// That the run or its recording did not end as it should: ranks that were killed, a hang, too little memory, an open
// file; "" when all is well.
[[nodiscard]] QString runEndNote(const TraceData& data);

}  // namespace plumb::gui
