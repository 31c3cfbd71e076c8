// SPDX-License-Identifier: Apache-2.0
// What a column of the trace format means to a program that moves rows from one file to another, read from the schema.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/schema/database.h"
#include "collector/schema/result.h"

namespace plumb::exports {

enum class ColumnRole : uint8_t {
  Plain,
  Text,       // id of a text in table string
  Key,        // numbers the rows of its own table
  Reference,  // id of a row of another table
  Moment,     // nanoseconds since the session's start
};

struct Column {
  std::string name;
  ColumnRole role = ColumnRole::Plain;
  std::string table;  // Key, Reference: whose ids these are
};

// In their order. The database has the tables of this schema.
[[nodiscard]] Result<std::vector<Column>> describeColumns(schema::Database& database, const std::string& table);

enum class TimeMeaning : uint8_t { Moment, Length, OtherClock, Unknown };
// Of a column whose name ends in _ns.
[[nodiscard]] TimeMeaning timeMeaningOf(std::string_view column);

}  // namespace plumb::exports
