// SPDX-License-Identifier: Apache-2.0
// Training steps as tables of SQL: analysis_steps, whose columns are documented in the report steps, and
// analysis_step_devices, the same steps with GPU work device by device. A step's `device` is empty where several work
// in its process's steps.
#pragma once
#include "analyzer/analyses/analysis_table.h"

namespace plumb {
[[nodiscard]] std::span<const AnalysisTable> stepsTables() noexcept;
}  // namespace plumb
