// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyzer/export/column_roles.h"
#include "analyzer/export/same_trace.h"
#include "analyzer/export/views.h"
#include "analyzer/import/import.h"
#include "analyzer/import/source_files.h"
#include "analyzer/import/trace_file.h"
#include "analyzer/trace/trace.h"
#include "collector/schema/schema.h"

namespace plumb::exports {
namespace {

struct Table {
  std::string name;
  std::vector<Column> columns;
  std::string select, insert;
  std::optional<size_t> key;  // the column that numbers the rows
};

// What the schema itself says of its tables, read from the new file.
Result<std::vector<Table>> describeTables(schema::Database& database) {
  auto tables = database.prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid");
  if (!tables.ok()) return tables.error();
  std::vector<Table> result;
  while (tables.value().next()) {
    Table table;
    table.name = tables.value().text(0);
    if (table.name == "meta" || table.name == "string" || table.name == "memory_category") continue;  // apart
    auto columns = describeColumns(database, table.name);
    if (!columns.ok()) return columns.error();
    table.columns = std::move(columns).value();
    std::string names, marks;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      names += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", table.columns[i].name);
      marks += i == 0 ? "?" : ", ?";
      if (table.columns[i].role == ColumnRole::Key) table.key = i;
    }
    table.select = fmt::format("SELECT {} FROM \"{}\"", names, table.name);
    table.insert = fmt::format("INSERT INTO \"{}\" ({}) VALUES ({})", table.name, names, marks);
    result.push_back(std::move(table));
  }
  return result;
}

// "Cannot write FILE: why."
Error failedToWrite(const MergeOptions& options, const Error& why) {
  if (options.writeFailed) *options.writeFailed = true;
  return Error{fmt::format("Cannot write the trace file {}: {}.", options.output, why.message)};
}

class Merger {
 public:
  Merger(import::TraceFile& file, std::vector<Table> tables, const MergeOptions& options)
      : m_file(file), m_tables(std::move(tables)), m_options(options) {}

  // shiftNs is added to every moment.
  [[nodiscard]] Status add(Trace& source, int64_t shiftNs);
  [[nodiscard]] uint64_t rows() const { return m_rows; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return m_warnings; }
  void warn(std::string warning) { m_warnings.push_back(std::move(warning)); }

 private:
  [[nodiscard]] Status copy(const Table& table, int64_t shiftNs);
  void bind(schema::Statement& insert, const Statement& row, int column, const Column& role, int64_t shiftNs);
  [[nodiscard]] Status noteForeignTables();
  [[nodiscard]] Status loadTexts();
  [[nodiscard]] int64_t textOf(int64_t id) const;

  import::TraceFile& m_file;
  std::vector<Table> m_tables;
  const MergeOptions& m_options;
  Trace* m_source = nullptr;                     // the file at hand
  std::map<std::string, int64_t> m_offsets;      // of the file at hand, by table
  std::map<std::string, int64_t> m_largest;      // ids given out so far
  std::unordered_map<int64_t, int64_t> m_texts;  // of the file at hand
  uint64_t m_rows = 0, m_refused = 0;
  std::vector<std::string> m_warnings;
};

// All at once: while rows are copied by statements of our own, the file takes no others.
Status Merger::loadTexts() {
  m_texts.clear();
  auto rows = m_source->query("SELECT id, text FROM main.string");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) m_texts[rows.value().integer(0)] = m_file.textId(rows.value().text(1));
  m_file.rows().commit();
  if (m_file.rows().failed()) return failedToWrite(m_options, {m_file.rows().failure()});
  return rows.value().status();
}

// The empty text for an id that a damaged file lacks.
int64_t Merger::textOf(int64_t id) const {
  const auto known = m_texts.find(id);
  return known == m_texts.end() ? 0 : known->second;
}

void Merger::bind(schema::Statement& insert, const Statement& row, int column, const Column& role, int64_t shiftNs) {
  // Sums of what a hostile file holds must not overflow; its numbers then mean nothing, but nothing breaks.
  const auto sum = [](int64_t a, int64_t b) {
    int64_t result = 0;
    return __builtin_add_overflow(a, b, &result) ? a : result;
  };
  switch (row.type(column)) {
    case ValueType::Null:
      return insert.bindNull();
    case ValueType::Real:
      return insert.bind(row.real(column));
    case ValueType::Text:
    case ValueType::Blob:
      return insert.bind(row.text(column));
    case ValueType::Integer:
      break;
  }
  const int64_t value = row.integer(column);
  switch (role.role) {
    case ColumnRole::Text:
      return insert.bind(textOf(value));
    case ColumnRole::Key:
    case ColumnRole::Reference:
      return insert.bind(sum(value, m_offsets[role.table]));
    case ColumnRole::Moment:
      return insert.bind(sum(value, shiftNs));
    case ColumnRole::Plain:
      return insert.bind(value);
  }
}

Status Merger::copy(const Table& table, int64_t shiftNs) {
  auto rows = m_source->query(table.select);
  if (!rows.ok()) return rows.error();
  auto insert = m_file.database().prepare(table.insert);
  if (!insert.ok()) return insert.error();
  Statement& row = rows.value();
  const int64_t offset = m_offsets[table.name];
  int64_t& largest = m_largest[table.name];
  while (row.next()) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      bind(insert.value(), row, static_cast<int>(i), table.columns[i], shiftNs);
    }
    if (table.key) largest = std::max(largest, row.integer(static_cast<int>(*table.key)) + offset);
    if (insert.value().run()) {
      ++m_rows;
    } else if (m_file.database().isConstraintViolation()) {
      ++m_refused;  // a damaged row: a null where none may be, a key twice
    } else {
      return failedToWrite(m_options, {m_file.database().lastError()});
    }
  }
  return row.status();
}

Status Merger::noteForeignTables() {
  const auto others = foreignTablesText(*m_source);
  if (!others.ok()) return others.error();
  if (!others.value().empty()) warn(fmt::format("{}: {}", m_source->path(), others.value()));
  return Unit{};
}

Status Merger::add(Trace& source, int64_t shiftNs) {
  m_source = &source;
  if (Status loaded = loadTexts(); !loaded.ok()) return loaded;
  m_refused = 0;
  m_offsets = m_largest;
  if (Status noted = noteForeignTables(); !noted.ok()) return noted;
  if (Status begun = m_file.database().execute("BEGIN"); !begun.ok()) return begun;
  for (const Table& table : m_tables) {
    if (const Status copied = copy(table, shiftNs); !copied.ok()) {
      if (m_options.writeFailed && *m_options.writeFailed) return copied;
      return Error{fmt::format("{}, table {}: {}", source.path(), table.name, copied.error().message)};
    }
  }
  if (m_refused > 0) {
    warn(fmt::format("{}: {} damaged rows (no value where one must be, or an id twice) were left out.", source.path(),
                     m_refused));
  }
  const Status committed = m_file.database().execute("COMMIT");
  return committed.ok() ? committed : failedToWrite(m_options, committed.error());
}

struct Source {
  Trace trace;
  int64_t startRealtimeNs;
};

std::string joined(const std::vector<Source>& sources, std::string TraceInfo::*text) {
  std::string result;
  std::set<std::string> seen;
  for (const Source& source : sources) {
    const std::string& part = source.trace.info().*text;
    if (!part.empty() && seen.insert(part).second) result += (result.empty() ? "" : ", ") + part;
  }
  return result;
}

void warnOfRanksTwice(const std::vector<Source>& sources, Merger& merger) {
  std::map<int64_t, std::string> owner;
  for (const Source& source : sources) {
    std::set<int64_t> own;
    for (const Process& process : source.trace.processes()) {
      if (process.rank) own.insert(*process.rank);
    }
    for (const int64_t rank : own) {
      const auto [first, isNew] = owner.emplace(rank, source.trace.path());
      if (!isNew) {
        merger.warn(fmt::format("Rank {} is in {} and in {}: are these files of one run?", rank, first->second,
                                source.trace.path()));
      }
    }
  }
}

// What an importer said of one file's ranks is not true of several files'.
Status countRanksAgain(schema::Database& database) {
  constexpr std::string_view kSaid = "FROM diagnostic WHERE lane = 'import' AND code = 'rank_missing'";
  auto said = database.prepare(fmt::format("SELECT count(*) {}", kSaid));
  if (!said.ok()) return said.error();
  if (!said.value().next() || said.value().integer(0) == 0) return Unit{};
  auto counted = database.prepare("SELECT count(DISTINCT rank), max(world_size) FROM process WHERE rank IS NOT NULL");
  if (!counted.ok()) return counted.error();
  if (!counted.value().next()) return Error{database.lastError()};
  const int64_t present = counted.value().integer(0), worldSize = counted.value().integer(1);
  if (Status gone = database.execute(fmt::format("DELETE {}", kSaid)); !gone.ok()) return gone;
  if (present >= worldSize) return Unit{};
  auto insert = database.prepare(
      "INSERT INTO diagnostic (process_id, start_ns, severity, lane, code, count, message)"
      " VALUES (NULL, 0, 'warning', 'import', 'rank_missing', ?, ?)");
  if (!insert.ok()) return insert.error();
  const std::string text = import::missingRanksText(present, worldSize);
  insert.value().bind(worldSize - present);
  insert.value().bind(std::string_view(text));
  return insert.value().run() ? Status(Unit{}) : Status(Error{database.lastError()});
}

Result<std::vector<Source>> openAll(const std::vector<std::string>& files) {
  std::vector<Source> sources;
  std::set<std::string> names;
  for (const std::string& file : files) {
    if (!names.insert(file).second) return Error{fmt::format("The file {} is named twice.", file)};
    auto opened = Trace::open(file);
    if (!opened.ok()) return opened.error();
    const int64_t start = opened.value().info().sessionStartRealtimeNs;
    sources.push_back({std::move(opened).value(), start});
  }
  if (const auto equal = import::equalFiles(files); !equal.empty()) {
    return Error{fmt::format("{} and {} hold the same trace; name it once.", files[equal.front().second],
                             files[equal.front().first])};
  }
  return sources;
}

// What the file says of itself, and the warnings.
Status writeHead(import::TraceFile& file, const std::vector<Source>& sources, int64_t startRealtimeNs,
                 const std::vector<std::string>& warnings, const MergeOptions& options) {
  file.writeMeta("schema_version", fmt::format("{}", schema::kVersion));
  file.writeMeta("session_start_realtime_ns", fmt::format("{}", startRealtimeNs));
  file.writeMeta("host", joined(sources, &TraceInfo::host));
  file.writeMeta("command", joined(sources, &TraceInfo::command));
  file.writeMeta("recorder_version", joined(sources, &TraceInfo::recorderVersion));
  file.writeMeta("plumb_version", options.version);
  file.writeMeta("complete", "1");
  auto diagnostic = file.database().prepare(
      "INSERT INTO diagnostic (process_id, start_ns, severity, lane, code, count, message)"
      " VALUES (NULL, 0, 'warning', 'merge', 'merge', 1, ?)");
  if (!diagnostic.ok()) return diagnostic.error();
  for (const std::string& warning : warnings) {
    diagnostic.value().bind(std::string_view(warning));
    if (!diagnostic.value().run()) return Error{file.database().lastError()};
  }
  return Unit{};
}

}  // namespace

Result<MergeResult> mergeTraces(const MergeOptions& options) {
  if (const Status other = checkNotRead(options.output, options.files); !other.ok()) return other.error();
  auto sources = openAll(options.files);
  if (!sources.ok()) return sources.error();
  std::vector<Trace*> traces;
  for (Source& source : sources.value()) traces.push_back(&source.trace);
  const auto twice = heldTwice(traces);
  if (!twice.ok()) return twice.error();
  if (!twice.value().empty()) return Error{twice.value()};
  auto created = import::TraceFile::create(options.output, options.replace);
  if (!created.ok()) {
    // Not "Cannot create", which is a place that cannot be.
    if (options.writeFailed) *options.writeFailed = created.error().message.starts_with("Cannot write");
    return created.error();
  }
  import::TraceFile& file = created.value();
  auto tables = describeTables(file.database());
  if (!tables.ok()) return tables.error();
  Merger merger(file, std::move(tables).value(), options);

  std::optional<int64_t> origin;
  for (const Source& source : sources.value()) {
    if (source.startRealtimeNs != 0) origin = std::min(origin.value_or(source.startRealtimeNs), source.startRealtimeNs);
  }
  for (Source& source : sources.value()) {
    int64_t shift = 0;
    if (source.startRealtimeNs != 0) {
      shift = source.startRealtimeNs - *origin;
    } else {
      merger.warn(fmt::format("{} does not say when it began: its times stand as if it began with the first file.",
                              source.trace.path()));
    }
    if (std::abs(shift) > kLargestTimeNs / 2) {
      return Error{
          fmt::format("{} and the other files are decades apart: one of their clocks is wrong.", source.trace.path())};
    }
    const Snapshot snapshot(source.trace);
    if (!snapshot.status().ok()) return snapshot.status().error();
    if (const Status added = merger.add(source.trace, shift); !added.ok()) return added.error();
    if (!source.trace.info().complete) {
      merger.warn(
          fmt::format("{} is not complete (its recorder was killed or is still running).", source.trace.path()));
    }
  }
  warnOfRanksTwice(sources.value(), merger);
  if (std::string warning = notAtOneTime(traces); !warning.empty()) merger.warn(std::move(warning));
  if (const Status counted = countRanksAgain(file.database()); !counted.ok()) {
    return failedToWrite(options, counted.error());
  }

  if (const Status written = writeHead(file, sources.value(), origin.value_or(0), merger.warnings(), options);
      !written.ok()) {
    return failedToWrite(options, written.error());
  }
  if (const Status published = file.publish(); !published.ok()) {
    if (options.writeFailed) *options.writeFailed = true;
    return published.error();
  }
  return MergeResult{merger.rows(), merger.warnings()};
}

}  // namespace plumb::exports
