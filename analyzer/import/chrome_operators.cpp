// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace plumb::import {
namespace {

// Ids of the source are dense; those beyond these limits, which damage makes, are looked up the slow way.
constexpr int64_t kMostExternalIds = int64_t{1} << 26;
constexpr int64_t kMostPythonIds = int64_t{1} << 27;
constexpr int64_t kOddPythonIds = int64_t{1} << 40;

// Numbers of the profiler's own bookkeeping, and what has a column.
bool isBookkeeping(std::string_view key) {
  static constexpr std::array<std::string_view, 12> kKeys = {
      "External id",   "external id",     "Ev Idx",          "Record function id",   "finished", "Trace name",
      "Fwd thread id", "Sequence number", "Trace iteration", "Profiler Event Index", "Device",   "Op count"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

bool isOfCommunication(std::string_view key) {
  static constexpr std::array<std::string_view, 20> kKeys = {"Collective name",
                                                             "In msg nelems",
                                                             "Out msg nelems",
                                                             "Group size",
                                                             "dtype",
                                                             "In split size",
                                                             "Out split size",
                                                             "Process Group Name",
                                                             "Process Group Description",
                                                             "Process Group Ranks",
                                                             "Global rank start",
                                                             "Global rank stride",
                                                             "Rank",
                                                             "Src Rank",
                                                             "Dst Rank",
                                                             "Seq",
                                                             "Is asynchronized op",
                                                             "Comms Id",
                                                             "Input Tensors start",
                                                             "Output Tensors start"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

// Its place in operator_argument_set; kOther: in the object of all others.
enum ArgumentPart : uint8_t { kDims, kTypes, kStrides, kValues, kOther, kPartCount };
ArgumentPart partOf(std::string_view key) {
  if (key == "Input Dims" || key == "Input dims") return kDims;
  if (key == "Input type") return kTypes;
  if (key == "Input Strides") return kStrides;
  if (key == "Concrete Inputs") return kValues;
  return kOther;
}

bool saysNothing(const JsonValue& value) {
  if (value.kind == JsonKind::Null) return true;
  if (value.kind == JsonKind::String) return value.text.empty();
  return value.kind == JsonKind::Array && value.text.find_first_not_of("[] \n\t\r,") == std::string_view::npos &&
         value.text.find(',') == std::string_view::npos;
}

// One line, whatever way the file is laid out, so that the same arguments are the same text.
std::string inOneLine(std::string_view json) {
  std::string line;
  bool isInText = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (isInText && c == '\\' && i + 1 < json.size()) {
      line += c;
      line += json[++i];
      continue;
    }
    if (c == '"') isInText = !isInText;
    if (!isInText && (c == ' ' || c == '\n' || c == '\r' || c == '\t')) continue;
    line += c;
    if (!isInText && c == ',') line += ' ';
  }
  return line;
}

}  // namespace

ChromeOperators::ChromeOperators(TraceFile& file, Tally& tally, size_t number)
    : m_file(file),
      m_tally(tally),
      m_firstOperator(static_cast<int64_t>(file.rows().idCount<schema::OperatorRow>())),
      m_firstApiCall(static_cast<int64_t>(file.rows().idCount<schema::ApiCallRow>())),
      m_pythonBase(static_cast<int64_t>(file.rows().idCount<schema::PythonCallRow>()) +
                   static_cast<int64_t>(number) * kMostPythonIds),
      m_nextOddPython(m_pythonBase + kOddPythonIds),
      m_firstPython(static_cast<int64_t>(file.rows().idCount<schema::PythonCallRow>())) {}

int64_t ChromeOperators::add(const ChromeEvent& event, const HostSpan& span, bool omitsCommunication, uint64_t offset) {
  const int64_t id = m_file.rows().nextId<schema::OperatorRow>();
  std::optional<int64_t> external, sequence, forwardThread;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    if (key == "External id" || key == "external id") external = value.toInteger();
    if (key == "Sequence number") sequence = value.toInteger();
    if (key == "Fwd thread id") forwardThread = value.toInteger();
  });
  if (sequence && *sequence < 0) sequence.reset();
  if (forwardThread == 0) forwardThread.reset();  // no backward operator
  m_file.rows().insert(schema::OperatorRow{.id = id,
                                           .process_id = span.process,
                                           .thread_id = span.thread,
                                           .start_ns = span.start,
                                           .duration_ns = span.duration,
                                           .name_id = m_file.textId(event.name),
                                           .parent_id = parentOf(span, id),
                                           .argument_set_id = argumentSet(event, omitsCommunication, offset),
                                           .sequence = sequence,
                                           .forward_thread = forwardThread,
                                           .external_id = external});
  if (external) noteExternalId(*external, id);
  return id;
}

// Operators of one thread come by start, and the outer one first; where they do not, nest() sorts the thread's.
std::optional<int64_t> ChromeOperators::parentOf(const HostSpan& span, int64_t id) {
  if (m_lane == nullptr || m_laneThread != span.thread) {
    m_lane = &m_lanes[span.thread];
    m_laneThread = span.thread;
  }
  Lane& lane = *m_lane;
  const int64_t end = span.start + span.duration;
  if (span.start < lane.lastStart || (span.start == lane.lastStart && end > lane.lastEnd)) lane.isSorted = false;
  lane.lastStart = span.start;
  lane.lastEnd = end;
  if (!lane.isSorted) return std::nullopt;
  std::vector<OpenOperator>& open = lane.open;
  // One of no length that begins where another ends is still inside.
  while (!open.empty() && (open.back().end < span.start || (open.back().end == span.start && end > span.start))) {
    open.pop_back();
  }
  // Those that overlap without nesting, which damaged traces have, are siblings.
  while (!open.empty() && open.back().end < end) open.pop_back();
  const std::optional<int64_t> parent = open.empty() ? std::nullopt : std::optional(open.back().id);
  open.push_back({id, end});
  return parent;
}

std::optional<int64_t> ChromeOperators::argumentSet(const ChromeEvent& event, bool omitsCommunication,
                                                    uint64_t offset) {
  std::array<std::string_view, kPartCount> parts{};
  std::string other;
  bool hasNotFinite = false;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    if (isBookkeeping(key) || saysNothing(value) || (omitsCommunication && isOfCommunication(key))) return;
    if (value.kind == JsonKind::NotFinite) {
      hasNotFinite = true;
      return;
    }
    if (const ArgumentPart part = partOf(key); part != kOther) {
      parts[part] = value.text;
      return;
    }
    const char* quote = value.kind == JsonKind::String ? "\"" : "";
    other.append(other.empty() ? "{\"" : ", \"")
        .append(key)
        .append("\": ")
        .append(quote)
        .append(value.text)
        .append(quote);
  });
  if (hasNotFinite) m_tally.count(Reason::NotFinite, offset);
  if (!other.empty()) other += '}';
  parts[kOther] = other;
  std::array<std::string, kPartCount> lines;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].find('\n') == std::string_view::npos) continue;
    lines[i] = inOneLine(parts[i]);
    parts[i] = lines[i];
  }
  m_argumentKey.clear();
  for (const std::string_view part : parts) m_argumentKey.append(part).append(1, '\n');
  if (m_argumentKey.size() == parts.size()) return std::nullopt;
  if (const auto found = m_argumentSets.find(m_argumentKey); found != m_argumentSets.end()) return found->second;
  const int64_t id = m_file.rows().nextId<schema::OperatorArgumentSetRow>();
  // Sets that hardly ever come twice, as values of scalars can make them, are not worth remembering without end.
  constexpr size_t kMostSets = 1u << 19;
  if (m_argumentSets.size() < kMostSets) m_argumentSets.emplace(m_argumentKey, id);
  m_file.rows().insert(schema::OperatorArgumentSetRow{.id = id,
                                                      .dims_id = m_file.textId(parts[kDims]),
                                                      .types_id = m_file.textId(parts[kTypes]),
                                                      .strides_id = m_file.textId(parts[kStrides]),
                                                      .values_id = m_file.textId(parts[kValues]),
                                                      .other_id = m_file.textId(parts[kOther])});
  return id;
}

void ChromeOperators::noteExternalId(int64_t external, int64_t id) {
  if (!m_firstExternal) m_firstExternal = external;
  const int64_t index = external - *m_firstExternal, value = id - m_firstOperator;
  if (external < 0 || index < 0 || index >= kMostExternalIds || value > UINT32_MAX) {
    m_hasRepeatedExternal |= !m_byOddExternal.emplace(external, id).second;
    return;
  }
  const auto at = static_cast<size_t>(index);
  if (at >= m_byExternal.size()) m_byExternal.resize(at + 1);
  m_hasRepeatedExternal |= m_byExternal[at] != 0;
  if (m_byExternal[at] == 0) m_byExternal[at] = static_cast<uint32_t>(value);
}

std::optional<int64_t> ChromeOperators::withExternalId(int64_t external) const {
  const int64_t index = external - m_firstExternal.value_or(0);
  if (external >= 0 && index >= 0 && index < static_cast<int64_t>(m_byExternal.size())) {
    const uint32_t value = m_byExternal[static_cast<size_t>(index)];
    return value == 0 ? std::nullopt : std::optional(m_firstOperator + value);
  }
  const auto odd = m_byOddExternal.find(external);
  return odd == m_byOddExternal.end() ? std::nullopt : std::optional(odd->second);
}

void ChromeOperators::addWork(int64_t process, int64_t correlation, std::optional<int64_t> external) {
  // The work of one graph launch comes in a row.
  if (correlation == 0 || correlation == m_lastCorrelation) return;
  m_lastCorrelation = correlation;
  // Without an operator the source gives the correlation id for the External id.
  if (!external || *external == correlation || *external < 0) {
    m_unknown[process].insert(correlation);
    return;
  }
  const auto launcher = withExternalId(*external);
  m_hasWaiting |= !launcher;
  m_file.rows().replace(schema::OperatorLaunchRow{
      .process_id = process, .correlation = correlation, .operator_id = launcher.value_or(~*external)});
}

Status ChromeOperators::forgetLaunches(const std::vector<std::pair<int64_t, int64_t>>& correlations) {
  schema::Database& database = m_file.database();
  auto drop = database.prepare("DELETE FROM operator_launch WHERE process_id = ? AND correlation = ?");
  if (!drop.ok()) return drop.error();
  for (const auto& [process, correlation] : correlations) {
    drop.value().bind(process);
    drop.value().bind(correlation);
    if (!drop.value().run()) return Error{database.lastError()};
    m_unknown[process].insert(correlation);
  }
  return Unit{};
}

// Of work that came before its operator, if that came at all.
Status ChromeOperators::findByExternalId() {
  if (!m_hasWaiting) return Unit{};
  schema::Database& database = m_file.database();
  {
    auto rows =
        database.prepare("SELECT process_id, correlation, operator_id FROM operator_launch WHERE operator_id < 0");
    if (!rows.ok()) return rows.error();
    auto update =
        database.prepare("UPDATE operator_launch SET operator_id = ? WHERE process_id = ? AND correlation = ?");
    if (!update.ok()) return update.error();
    while (rows.value().next()) {
      const int64_t process = rows.value().integer(0), correlation = rows.value().integer(1);
      const auto launcher = withExternalId(~rows.value().integer(2));
      if (!launcher) {
        m_unknown[process].insert(correlation);
        continue;
      }
      update.value().bind(*launcher);
      update.value().bind(process);
      update.value().bind(correlation);
      if (!update.value().run()) return Error{database.lastError()};
    }
  }
  return database.execute("DELETE FROM operator_launch WHERE operator_id < 0");
}

void ChromeOperators::addPython(const ChromeEvent& event, const HostSpan& span) {
  int64_t own = 0, caller = 0;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    if (key == "Python id") own = value.toInteger().value_or(0);
    if (key == "Python parent id") caller = value.toInteger().value_or(0);
  });
  bool isUsable = own > 0 && own < kMostPythonIds;
  if (isUsable) {
    const auto at = static_cast<size_t>(own);
    if (at >= m_pythonIds.size()) m_pythonIds.resize(at + at / 2 + 1);
    isUsable = !m_pythonIds[at];
    m_hasRepeatedPython |= !isUsable;
    m_pythonIds[at] = true;
  }
  const int64_t id = isUsable ? m_pythonBase + own : ++m_nextOddPython;
  m_file.rows().skipIds<schema::PythonCallRow>(id);
  const bool hasCaller = caller > 0 && caller < kMostPythonIds && caller != own;
  m_file.rows().insert(
      schema::PythonCallRow{.id = id,
                            .process_id = span.process,
                            .thread_id = span.thread,
                            .start_ns = span.start,
                            .duration_ns = span.duration,
                            .name_id = m_file.textId(event.name),
                            .parent_id = hasCaller ? std::optional(m_pythonBase + caller) : std::nullopt});
}

// Of equal ones with the same number in the source the first stays. Without a length two can be two, as the clock of
// old traces is coarse.
Result<int64_t> ChromeOperators::dropRepeatedOperators() {
  schema::Database& database = m_file.database();
  const std::string find = fmt::format(
      "DROP TABLE IF EXISTS temp.repeated_operator; CREATE TEMP TABLE repeated_operator AS SELECT id, first FROM ("
      "SELECT o.id, min(o.id) OVER (PARTITION BY thread_id, start_ns, duration_ns, name_id, external_id, sequence,"
      " forward_thread, dims_id, types_id, strides_id, values_id, other_id) AS first"
      " FROM operator o LEFT JOIN operator_argument_set s ON s.id = o.argument_set_id"
      " WHERE o.id > {} AND external_id IS NOT NULL AND duration_ns > 0) WHERE first < id;"
      "CREATE UNIQUE INDEX temp.repeated_operator_id ON repeated_operator(id)",
      m_firstOperator);
  if (Status found = database.execute(find); !found.ok()) return found.error();
  int64_t repeated = 0;
  {
    auto count = database.prepare("SELECT count(*) FROM temp.repeated_operator");
    if (!count.ok()) return count.error();
    if (count.value().next()) repeated = count.value().integer(0);
  }
  if (repeated == 0) return repeated;
  const Status dropped = database.execute(
      "DELETE FROM operator WHERE id IN (SELECT id FROM temp.repeated_operator);"
      "UPDATE operator SET parent_id = (SELECT first FROM temp.repeated_operator r WHERE r.id = parent_id)"
      " WHERE parent_id IN (SELECT id FROM temp.repeated_operator);"
      "DELETE FROM collective WHERE id IN (SELECT collective_id FROM collective_detail WHERE operator_id IN"
      " (SELECT id FROM temp.repeated_operator));"
      "DELETE FROM collective_detail WHERE operator_id IN (SELECT id FROM temp.repeated_operator)");
  return dropped.ok() ? Result<int64_t>(repeated) : dropped.error();
}

// Those that come a second time under their number have an odd id.
Result<int64_t> ChromeOperators::dropRepeatedPython() {
  schema::Database& database = m_file.database();
  auto drop = database.prepare(fmt::format(
      "DELETE FROM python_call WHERE id IN (SELECT id FROM (SELECT id, min(id) OVER (PARTITION BY thread_id, start_ns,"
      " duration_ns, name_id, parent_id) AS first FROM python_call WHERE id > {0}) WHERE id > {1} AND first <= {1})"
      " RETURNING 1",
      m_firstPython, m_pythonBase + kOddPythonIds));
  if (!drop.ok()) return drop.error();
  int64_t count = 0;
  while (drop.value().next()) ++count;
  return count;
}

Status ChromeOperators::dropRepeated() {
  int64_t repeated = 0;
  if (m_hasRepeatedExternal) {
    const auto dropped = dropRepeatedOperators();
    if (!dropped.ok()) return dropped.error();
    repeated += dropped.value();
  }
  if (m_hasRepeatedPython) {
    const auto dropped = dropRepeatedPython();
    if (!dropped.ok()) return dropped.error();
    repeated += dropped.value();
  }
  if (repeated > 0) m_tally.count(Reason::RepeatedCall, 0, static_cast<uint64_t>(repeated));
  return Unit{};
}

Status ChromeOperators::finish() {
  if (Status dropped = dropRepeated(); !dropped.ok()) return dropped;
  if (Status nested = nest(); !nested.ok()) return nested;
  if (Status found = findByExternalId(); !found.ok()) return found;
  return findLaunchers();
}

// The threads whose operators did not come in order. Of two with the same times the source's counter tells the outer
// one.
Status ChromeOperators::nest() {
  std::string threads;
  for (const auto& [thread, lane] : m_lanes) {
    if (!lane.isSorted) threads += fmt::format("{}{}", threads.empty() ? "" : ",", thread);
  }
  if (threads.empty()) return Unit{};
  schema::Database& database = m_file.database();
  auto rows = database.prepare(
      fmt::format("SELECT id, thread_id, start_ns, start_ns + duration_ns FROM operator WHERE id > {} AND thread_id IN"
                  " ({}) ORDER BY thread_id, start_ns, 4 DESC, external_id, id",
                  m_firstOperator, threads));
  if (!rows.ok()) return rows.error();
  auto update = database.prepare("UPDATE operator SET parent_id = ? WHERE id = ?");
  if (!update.ok()) return update.error();
  std::vector<OpenOperator> open;
  int64_t thread = -1;
  while (rows.value().next()) {
    const int64_t id = rows.value().integer(0), start = rows.value().integer(2), end = rows.value().integer(3);
    if (rows.value().integer(1) != thread) open.clear();
    thread = rows.value().integer(1);
    while (!open.empty() && (open.back().end < start || (open.back().end == start && end > start))) open.pop_back();
    while (!open.empty() && open.back().end < end) open.pop_back();
    update.value().bind(open.empty() ? std::nullopt : std::optional(open.back().id));
    update.value().bind(id);
    if (!update.value().run()) return Error{database.lastError()};
    open.push_back({id, end});
  }
  return Unit{};
}

bool ChromeOperators::isUnknown(int64_t process, int64_t correlation) const {
  const auto found = m_unknown.find(process);
  return found != m_unknown.end() && found->second.contains(correlation);
}

void ChromeOperators::addSource(int64_t process, int64_t thread, int64_t start, int64_t correlation) {
  m_sources.push_back({process, thread, start, correlation});
}

Status ChromeOperators::storeSources() {
  schema::Database& database = m_file.database();
  const Status made = database.execute(
      "DROP TABLE IF EXISTS temp.arrow; CREATE TEMP TABLE arrow(thread_id INTEGER, start_ns INTEGER, process_id "
      "INTEGER,"
      " correlation INTEGER)");
  if (!made.ok()) return made;
  auto insert = database.prepare("INSERT INTO temp.arrow VALUES(?, ?, ?, ?)");
  if (!insert.ok()) return insert.error();
  for (const Source& source : m_sources) {
    if (!isUnknown(source.process, source.correlation)) continue;
    for (const int64_t value : {source.thread, source.start, source.process, source.correlation}) {
      insert.value().bind(value);
    }
    if (!insert.value().run()) return Error{database.lastError()};
  }
  return Unit{};
}

// Of work whose source names no operator: the innermost one around the launching call, on the call's thread; without a
// call, the one that the arrow to the work comes from.
Status ChromeOperators::findLaunchers() {
  if (m_unknown.empty() || m_lanes.empty()) return Unit{};
  if (!m_sources.empty()) {
    if (Status stored = storeSources(); !stored.ok()) return stored;
    const Status found =
        findAround("SELECT thread_id, start_ns, process_id, correlation FROM temp.arrow ORDER BY thread_id, start_ns");
    if (!found.ok()) return found;
  }
  if (Status found = findAround(fmt::format("SELECT thread_id, start_ns, process_id, correlation FROM api_call"
                                            " WHERE id > {} AND correlation <> 0 ORDER BY thread_id, start_ns",
                                            m_firstApiCall));
      !found.ok()) {
    return found;
  }
  m_unknown.clear();
  m_sources.clear();
  return Unit{};
}

// sql: thread, start, process, correlation. Both come sorted from the file, which keeps them on the disk when they are
// many.
Status ChromeOperators::findAround(const std::string& sql) {
  schema::Database& database = m_file.database();
  auto calls = database.prepare(sql);
  if (!calls.ok()) return calls.error();
  auto operators =
      database.prepare(fmt::format("SELECT thread_id, start_ns, start_ns + duration_ns, id FROM operator WHERE id > {}"
                                   " ORDER BY thread_id, start_ns, 3 DESC, external_id, id",
                                   m_firstOperator));
  if (!operators.ok()) return operators.error();
  // The rows so far are in the file, and no more of them are on their way while these statements run.
  auto insert = database.prepare("REPLACE INTO operator_launch(process_id, correlation, operator_id) VALUES(?, ?, ?)");
  if (!insert.ok()) return insert.error();
  schema::Statement& call = calls.value();
  schema::Statement& row = operators.value();
  std::vector<OpenOperator> open;
  int64_t thread = -1;
  bool hasRow = row.next();
  while (call.next()) {
    const std::pair place(call.integer(0), call.integer(1));
    for (; hasRow && std::pair(row.integer(0), row.integer(1)) <= place; hasRow = row.next()) {
      if (row.integer(0) != thread) open.clear();
      thread = row.integer(0);
      while (!open.empty() && open.back().end <= row.integer(1)) open.pop_back();
      open.push_back({row.integer(3), row.integer(2)});
    }
    if (place.first != thread || !isUnknown(call.integer(2), call.integer(3))) continue;
    while (!open.empty() && open.back().end <= place.second) open.pop_back();
    if (open.empty()) continue;
    insert.value().bind(call.integer(2));
    insert.value().bind(call.integer(3));
    insert.value().bind(open.back().id);
    if (!insert.value().run()) return Error{database.lastError()};
  }
  return Unit{};
}

}  // namespace plumb::import
