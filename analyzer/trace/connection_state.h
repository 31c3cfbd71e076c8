// SPDX-License-Identifier: Apache-2.0
// What a connection and its table functions share. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "analyzer/trace/schema_views.h"
#include "analyzer/trace/table_pages.h"
#include "collector/schema/result.h"

namespace plumb {

struct ConnectionState {
  // While a view is made, or a table function declares its columns, which SQLite puts to the authorizer as if a table
  // were created.
  bool isDeclaring = false;
  bool isCheckingNames = false;  // while checkNamesAreOurs() asks
  // None: all are there, or none is wanted.
  std::optional<SchemaViews> views;
  // None: the main file's tables are not, to the letter, those of this schema.
  std::optional<TablePages> pages;
  // Why the table functions that read the main file cannot; empty when they can.
  std::string unusable;
  // The main file's, as last seen: another one means that what was read of the file may be old.
  int64_t version = 0;
  // What the user says that devices can do, per second, by resource ("memory", "bf16" …): analyses/peaks.h.
  std::map<std::string, double> peaks;
  // Counts what else than the file rows depend on: changes of `peaks`.
  int64_t revision = 0;
  // Called when the version has changed, before rows are computed anew. May be empty.
  std::function<Status()> changed;
  // Called when rows have been computed. May be empty.
  std::function<void()> computed;
};

}  // namespace plumb
