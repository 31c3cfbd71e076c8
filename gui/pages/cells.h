// SPDX-License-Identifier: Apache-2.0
// Values as cells of a table: read by people, sorted by number.
#pragma once
#include <QString>
#include <optional>

#include "analyzer/trace/time.h"
#include "gui/models/table_model.h"
#include "gui/timeline/time_scale.h"

namespace plumb::gui::cells {

[[nodiscard]] inline double nsOf(Duration duration) { return static_cast<double>(duration.ns()); }
[[nodiscard]] inline Cell text(const QString& value) { return {value, std::nullopt}; }
[[nodiscard]] inline Cell count(int64_t value) { return {QString::number(value), static_cast<double>(value)}; }
[[nodiscard]] inline Cell bytes(double value) { return {formatBytes(value), value}; }
[[nodiscard]] inline Cell unknown() { return {QStringLiteral("–"), -1.0}; }
[[nodiscard]] inline Cell time(std::optional<Duration> value) {
  return value ? Cell{formatDuration(nsOf(*value)), nsOf(*value)} : unknown();
}
[[nodiscard]] inline Cell rate(const std::optional<double>& value) {
  return value ? Cell{formatSi(*value) + QStringLiteral("B/s"), *value} : unknown();
}

}  // namespace plumb::gui::cells
