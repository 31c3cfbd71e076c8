// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/table_functions.h"

#include <algorithm>
#include <utility>

namespace plumb {

int declareTable(sqlite3* database, const char* declaration, Declaring& declaring) {
  declaring.now = true;
  const int result = sqlite3_declare_vtab(database, declaration);
  declaring.now = false;
  return result;
}

int takeArguments(sqlite3_index_info* info, int visibleColumns, int argumentCount) {
  std::vector<int> constraint(static_cast<size_t>(argumentCount), -1);
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& c = info->aConstraint[i];
    if (c.iColumn < visibleColumns || c.op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (!c.usable) return SQLITE_CONSTRAINT;
    constraint[static_cast<size_t>(c.iColumn - visibleColumns)] = i;
  }
  int next = 0;
  for (int argument = 0; argument < argumentCount; ++argument) {
    const int at = constraint[static_cast<size_t>(argument)];
    if (at < 0) continue;
    info->idxNum |= 1 << argument;
    info->aConstraintUsage[at].argvIndex = ++next;
    info->aConstraintUsage[at].omit = 1;
  }
  info->estimatedCost = 1;
  info->estimatedRows = 10;
  return SQLITE_OK;
}

std::vector<Cell> argumentsOf(int given, sqlite3_value** values, size_t argumentCount) {
  std::vector<Cell> arguments(argumentCount);
  int next = 0;
  for (size_t argument = 0; argument < argumentCount; ++argument) {
    if (!(given & (1 << argument))) continue;
    sqlite3_value* value = values[next++];
    switch (sqlite3_value_type(value)) {
      case SQLITE_NULL:
        break;
      case SQLITE_INTEGER:
        arguments[argument] = static_cast<int64_t>(sqlite3_value_int64(value));
        break;
      case SQLITE_FLOAT:
        arguments[argument] = sqlite3_value_double(value);
        break;
      default: {
        const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
        arguments[argument] = std::string(text ? text : "", static_cast<size_t>(sqlite3_value_bytes(value)));
      }
    }
  }
  return arguments;
}

int64_t fileVersion(sqlite3* database) {
  unsigned version = 0;
  sqlite3_file_control(database, "main", SQLITE_FCNTL_DATA_VERSION, &version);
  return static_cast<int64_t>(version) << 32 ^ sqlite3_total_changes(database);
}

int failTable(sqlite3_vtab* table, const char* message) {
  sqlite3_free(table->zErrMsg);
  table->zErrMsg = sqlite3_mprintf("%s", message);
  return SQLITE_ERROR;
}

std::string lowered(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace plumb
