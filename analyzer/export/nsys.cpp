// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/nsys.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/export/nsys_contents.h"
#include "analyzer/trace/staging.h"
#include "collector/schema/database.h"
#include "collector/schema/schema.h"

namespace plumb::exports {
namespace {

struct Column {
  std::string name, type;
};

std::vector<std::string> tableNames() {
  std::vector<std::string> names = {"PROCESSES"};  // of the view processes; nsys_views.sql says why
  const std::string_view sql = schema::nsysViewsSql();
  constexpr std::string_view kCreate = "CREATE VIEW ";
  for (size_t at = sql.find(kCreate); at != std::string_view::npos; at = sql.find(kCreate, at + 1)) {
    const size_t first = at + kCreate.size();
    std::string name(sql.substr(first, sql.find_first_of(" \n", first) - first));
    if (!name.starts_with("nsys_")) names.push_back(std::move(name));
  }
  return names;
}

// What programs take for granted.
bool isAlwaysThere(std::string_view table) {
  return table == "CUPTI_ACTIVITY_KIND_KERNEL" || table == "CUPTI_ACTIVITY_KIND_RUNTIME" || table == "StringIds";
}

class Writer {
 public:
  Writer(Trace& trace, schema::Database& database) : m_trace(trace), m_database(database) {}

  [[nodiscard]] Status table(const std::string& name, NsysExported& exported) {
    const std::string columns = name == "PROCESSES" ? "globalPid, pid, name" : "*";
    auto types = typesOf(name);
    if (!types.ok()) return types.error();
    auto rows = m_trace.query(fmt::format("SELECT {} FROM {}", columns, name));
    if (!rows.ok()) return rows.error();
    bool isCreated = false;
    schema::Statement insert;
    if (isAlwaysThere(name)) {
      if (Status made = create(name, rows.value(), types.value(), insert); !made.ok()) return made;
      isCreated = true;
    }
    while (rows.value().next()) {
      if (!isCreated) {
        if (Status made = create(name, rows.value(), types.value(), insert); !made.ok()) return made;
        isCreated = true;
      }
      for (int i = 0; i < rows.value().columnCount(); ++i) bind(insert, rows.value(), i);
      if (!insert.run()) return Error{m_database.lastError()};
      ++exported.rows;
    }
    exported.tables += isCreated ? 1 : 0;
    return rows.value().status();
  }

 private:
  [[nodiscard]] Result<std::vector<Column>> typesOf(const std::string& view) {
    auto rows = m_trace.query(fmt::format("SELECT name, type FROM pragma_table_info('{}')", view));
    if (!rows.ok()) return rows.error();
    std::vector<Column> columns;
    while (rows.value().next())
      columns.push_back({std::string(rows.value().text(0)), std::string(rows.value().text(1))});
    return columns;
  }

  [[nodiscard]] Status create(const std::string& name, const Statement& rows, const std::vector<Column>& types,
                              schema::Statement& insert) {
    std::string columns, holders;
    for (int i = 0; i < rows.columnCount(); ++i) {
      std::string type;
      for (const Column& column : types) {
        if (column.name == rows.columnName(i)) type = column.type == "INT" ? "INTEGER" : column.type;
      }
      columns += fmt::format("{}\"{}\" {}", i == 0 ? "" : ", ", rows.columnName(i), type);
      if (name == "StringIds" && i == 0) columns += " NOT NULL PRIMARY KEY";
      holders += i == 0 ? "?" : ", ?";
    }
    if (Status made = m_database.execute(fmt::format("CREATE TABLE {}({})", name, columns)); !made.ok()) return made;
    auto prepared = m_database.prepare(fmt::format("INSERT INTO {} VALUES({})", name, holders));
    if (!prepared.ok()) return prepared.error();
    insert = std::move(prepared).value();
    return Unit{};
  }

  static void bind(schema::Statement& insert, const Statement& rows, int column) {
    switch (rows.type(column)) {
      case ValueType::Integer:
        return insert.bind(rows.integer(column));
      case ValueType::Real:
        return insert.bind(rows.real(column));
      case ValueType::Text:
        return insert.bind(rows.text(column));
      default:
        return insert.bindNull();
    }
  }

  Trace& m_trace;
  schema::Database& m_database;
};

Result<NsysExported> writeAll(Trace& trace, const std::string& path) {
  auto opened = schema::Database::open(path, schema::Locking::None);
  if (!opened.ok()) return opened.error();
  schema::Database database = std::move(opened).value();
  if (Status set = database.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN"); !set.ok())
    return set.error();
  NsysExported exported;
  Writer writer(trace, database);
  for (const std::string& name : tableNames()) {
    if (Status written = writer.table(name, exported); !written.ok()) return written.error();
  }
  if (Status done = database.execute("COMMIT"); !done.ok()) return done.error();
  return exported;
}

}  // namespace

Result<NsysExported> exportNsys(Trace& trace, const std::string& path, bool replace, bool* writeFailed) {
  if (const Status free = checkPlace(path, replace); !free.ok()) return free.error();
  const auto fail = [&](const std::string& what) { return Error{fmt::format("Cannot write {}: {}.", path, what)}; };
  auto staging = Staging::file(path, "exporting");
  if (!staging.ok()) return fail(staging.error().message);
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return fail(snapshot.status().error().message);
  auto leftOut = leftOutOf(trace, nsysContents());
  if (!leftOut.ok()) return leftOut.error();
  if (writeFailed) *writeFailed = true;
  auto exported = writeAll(trace, staging.value().path());
  if (!exported.ok()) return fail(exported.error().message);
  const Status published = staging.value().publishFile(replace);
  if (!published.ok()) return fail(published.error().message);
  exported.value().leftOut = std::move(leftOut).value();
  return exported;
}

}  // namespace plumb::exports
