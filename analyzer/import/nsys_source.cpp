// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

namespace plumb::import {
namespace {

constexpr std::chrono::milliseconds kBusyTimeout{2000};

std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? "\"\"" : std::string(1, c));
  return text + "\"";
}

bool equalNames(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

// The number of a suffix _V<number>.
std::optional<int> versionIn(std::string_view suffix) {
  int version = 0;
  if (suffix.size() < 3 || suffix.substr(0, 2) != "_V") return std::nullopt;
  const auto [at, error] = std::from_chars(suffix.data() + 2, suffix.data() + suffix.size(), version);
  if (error != std::errc() || at != suffix.data() + suffix.size()) return std::nullopt;
  return version;
}

// Reads on behind damage, by row ids: a place of damage costs two searches of the table's tree for each doubling of the
// row ids that it makes unreadable.
class ReadingOn {
 public:
  // Of a query with the row id in column 0, from the row id ?1 on.
  explicit ReadingOn(Statement& rows) : m_rows(rows) {}

  // Gives the rows behind row id `last` and returns the last id; what is lost goes to `damage`.
  int64_t readBehind(int64_t last, const std::function<void(const NsysRow&)>& take, NsysDamage& damage) {
    int64_t again = 0;
    // Rows that come again, as a forged tree would have it, are not given, and there is an end to reading them.
    while (again <= damage.readRows + kMostAgain) {
      const auto first = firstReadable(last);
      if (!first) return last;
      const Found found = seek(*first);
      const int64_t next = found == Found::End ? *first : m_rows.integer(0);
      damage.lostRows += std::max<int64_t>(next - last - 1, 0);
      damage.isEndLost = found != Found::End && takeRows(last, take, damage, again);
      last = std::max(last, *first);
      if (!damage.isEndLost) return last;
    }
    return last;
  }

 private:
  static constexpr int64_t kMostAgain = 1000;
  enum class Found { Row, End, Nothing };  // Nothing: an error

  // Until the end or an error (true). An id is believed once a larger one follows it: any may be damaged.
  bool takeRows(int64_t& last, const std::function<void(const NsysRow&)>& take, NsysDamage& damage, int64_t& again) {
    int64_t latest = last;
    do {
      const int64_t id = m_rows.integer(0);
      if (id <= last) {
        ++again;
        continue;
      }
      if (id > latest) last = latest;
      latest = id;
      ++damage.readRows;
      take(NsysRow(m_rows));
    } while (m_rows.next());
    last = latest;
    return !m_rows.status().ok();
  }

  Found seek(int64_t id) {
    m_rows.reset();
    m_rows.bind(1, id);
    if (m_rows.next()) return Found::Row;
    return m_rows.status().ok() ? Found::End : Found::Nothing;
  }

  // The first row id behind the next one from which rows, or that there are no more, can be read.
  std::optional<int64_t> firstReadable(int64_t last) {
    constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
    if (last == kLargest) return std::nullopt;
    int64_t bad = last + 1, good = 0;
    for (int64_t step = 1;; step *= 2) {
      if (step > kLargest / 2 || last >= kLargest - 1 - step) return std::nullopt;
      good = last + 1 + step;
      if (seek(good) != Found::Nothing) break;
      bad = good;
    }
    while (good - bad > 1) {
      const int64_t middle = bad + (good - bad) / 2;
      (seek(middle) == Found::Nothing ? bad : good) = middle;
    }
    return good;
  }

  Statement& m_rows;
};

}  // namespace

std::optional<int64_t> NsysRow::integer(int column) const {
  const ValueType kind = type(column);
  if (kind == ValueType::Integer || kind == ValueType::Real) return m_statement.integer(column + 1);
  if (kind != ValueType::Text) return std::nullopt;
  const std::string_view digits = text(column);
  int64_t value = 0;
  const auto [at, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && at == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

Result<NsysSource> NsysSource::open(const std::string& path) {
  auto database = Database::openForeign(path, kBusyTimeout);
  if (!database.ok()) return database.error();
  NsysSource source(std::move(database).value());
  if (const Status read = source.readTables(); !read.ok()) return read.error();
  return source;
}

Status NsysSource::readTables() {
  // Only stored tables: a view, a virtual table or a generated column in their place could run its author's code, and
  // table_info does not list generated columns.
  auto rows = m_database.prepare(
      "SELECT s.name, c.name, c.pk = 1 AND upper(c.type) = 'INTEGER',"
      " (SELECT count(*) FROM pragma_table_info(s.name, 'main') k WHERE k.pk > 0)"
      " FROM main.sqlite_schema s, pragma_table_info(s.name, 'main') c WHERE s.type = 'table' AND s.rootpage > 0");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) {
    Table& table = m_tables[std::string(rows.value().text(0))];
    table.columns.emplace_back(rows.value().text(1));
    if (rows.value().integer(2) != 0 && rows.value().integer(3) == 1) table.rowId = table.columns.back();
  }
  // What could be read of a damaged list is what there is.
  if (Status read = rows.value().status(); !read.ok() && !m_database.isDamaged()) return read;
  return Unit{};
}

bool NsysSource::isNsys() const {
  const bool hasData = std::any_of(m_tables.begin(), m_tables.end(), [](const auto& entry) {
    const std::string_view name = entry.first;
    return name.starts_with("CUPTI_ACTIVITY_KIND_") || name.starts_with("TARGET_INFO_") || name == "NVTX_EVENTS" ||
           name == "OSRT_API" || name == "CUDA_GPU_MEMORY_USAGE_EVENTS" || name == "META_DATA_EXPORT" ||
           name == "ANALYSIS_DETAILS";
  });
  // nvprof's databases have CUPTI_ tables too, and a StringTable.
  return hasData && m_tables.count("StringTable") == 0;
}

std::string NsysSource::nameOf(std::string_view table) const {
  if (m_tables.count(table) != 0) return std::string(table);
  std::string found;
  int latest = -1;
  for (auto at = m_tables.lower_bound(table); at != m_tables.end() && at->first.starts_with(table); ++at) {
    const auto version = versionIn(std::string_view(at->first).substr(table.size()));
    if (version && *version > latest) {
      latest = *version;
      found = at->first;
    }
  }
  return found;
}

bool NsysSource::has(std::string_view table, std::string_view column) const {
  const auto found = m_tables.find(nameOf(table));
  return found != m_tables.end() && std::any_of(found->second.columns.begin(), found->second.columns.end(),
                                                [&](const std::string& name) { return equalNames(name, column); });
}

std::vector<std::string> NsysSource::tables() const {
  std::vector<std::string> names;
  for (const auto& [name, table] : m_tables) names.push_back(name);
  return names;
}

std::vector<std::string> NsysSource::columns(std::string_view table) const {
  const auto found = m_tables.find(nameOf(table));
  return found == m_tables.end() ? std::vector<std::string>() : found->second.columns;
}

bool NsysSource::isRowId(std::string_view table, std::string_view column) const {
  const auto found = m_tables.find(nameOf(table));
  return found != m_tables.end() && equalNames(found->second.rowId, column);
}

int64_t NsysSource::estimatedRows(std::string_view table) {
  const std::string name = nameOf(table);
  if (name.empty()) return 0;
  auto rows = m_database.prepare(fmt::format("SELECT max(rowid) - min(rowid) + 1 FROM main.{}", quoted(name)));
  return rows.ok() && rows.value().next() ? std::max<int64_t>(rows.value().integer(0), 0) : 0;
}

int64_t NsysSource::countRows(std::string_view table) {
  const std::string name = nameOf(table);
  if (name.empty()) return 0;
  auto rows = m_database.prepare(fmt::format("SELECT count(*) FROM main.{}", quoted(name)));
  if (rows.ok() && rows.value().next()) return rows.value().integer(0);
  return estimatedRows(table);
}

std::string NsysSource::selection(const Table& table, const std::vector<const char*>& columns) const {
  std::string sql;
  for (const char* wanted : columns) {
    std::string present;
    int count = 0;
    std::string_view rest = wanted;
    while (!rest.empty()) {
      const size_t bar = rest.find('|');
      const std::string_view name = rest.substr(0, bar);
      rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
      const bool isThere = std::any_of(table.columns.begin(), table.columns.end(),
                                       [&](const std::string& column) { return equalNames(column, name); });
      if (!isThere) continue;
      present += (count++ == 0 ? "" : ", ") + quoted(name);
    }
    sql += ", ";
    sql += count == 0 ? "NULL" : count == 1 ? present : "coalesce(" + present + ")";
  }
  return sql;
}

void NsysSource::forEach(std::string_view table, const std::vector<const char*>& columns,
                         const std::function<void(const NsysRow&)>& take, const char* order, const std::string& where) {
  const std::string name = nameOf(table);
  if (name.empty()) return;
  markRead(name);
  const std::string wanted = selection(m_tables.find(name)->second, columns);
  const std::string from =
      fmt::format("{} FROM main.{}{}", wanted, quoted(name), where.empty() ? where : " WHERE (" + where + ")");
  const std::string by = order != nullptr && has(name, order) ? " ORDER BY " + quoted(order) : std::string();
  NsysDamage damage;
  damage.table = name;
  auto rows = m_database.prepare(fmt::format("SELECT rowid{}{}", from, by));
  const bool hasRowId = rows.ok();
  if (!hasRowId) rows = m_database.prepare(fmt::format("SELECT 0{}{}", from, by));
  if (!rows.ok()) return noteDamage(damage);
  int64_t last = 0, previous = 0;
  while (rows.value().next()) {
    ++damage.readRows;
    previous = std::exchange(last, rows.value().integer(0));
    take(NsysRow(rows.value()));
  }
  if (rows.value().status().ok()) return;
  if (!hasRowId || (!by.empty() && damage.readRows > 0)) return noteDamage(damage);
  // A sort reads everything first, so it has given nothing; the order of the file is better than nothing.
  if (!by.empty()) return forEach(name, columns, take, nullptr, where);
  last = std::max(last, previous);  // the id before the damage may be damaged, too
  auto behind = m_database.prepare(
      fmt::format("SELECT rowid{} {} rowid >= ?1 ORDER BY rowid", from, where.empty() ? "WHERE" : "AND"));
  if (behind.ok()) last = ReadingOn(behind.value()).readBehind(last, take, damage);
  if (damage.isEndLost) readBackwards(from, last, take, damage);
  noteDamage(damage);
}

void NsysSource::noteDamage(const NsysDamage& damage) {
  const auto known = std::ranges::find(m_damage, damage.table, &NsysDamage::table);
  if (known == m_damage.end()) return m_damage.push_back(damage);
  // The same places: the reading that found more rows says more closely what is between them.
  if (damage.readRows > known->readRows) *known = damage;
}

void NsysSource::readBackwards(const std::string& from, int64_t last, const std::function<void(const NsysRow&)>& take,
                               NsysDamage& damage) {
  auto back = m_database.prepare(fmt::format("SELECT rowid{} ORDER BY rowid DESC", from));
  const bool isBehindRows = damage.readRows > 0;
  std::optional<int64_t> first;
  while (back.ok() && back.value().next()) {
    const int64_t id = back.value().integer(0);
    if (isBehindRows && id <= last) break;
    ++damage.readRows;
    first = id;
    take(NsysRow(back.value()));
  }
  if (!first) return;
  damage.isEndLost = false;
  damage.lostRows += std::max<int64_t>(*first - last - 1, 0);
}

}  // namespace plumb::import
