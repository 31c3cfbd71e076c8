// SPDX-License-Identifier: Apache-2.0
// plumb query
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/text.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/row_store.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {
namespace {

using Parameters = std::map<std::string, Cell>;

template <class Number>
std::optional<Number> numberOf(std::string_view text) {
  Number value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Cell valueOf(std::string_view text) {
  if (text == "NULL" || text == "null") return nullptr;
  if (const auto integer = numberOf<int64_t>(text)) return *integer;
  const auto real = numberOf<double>(text);
  if (real && std::isfinite(*real)) return *real;
  const bool isQuoted = text.size() >= 2 && text.front() == '\'' && text.back() == '\'';
  return std::string(isQuoted ? text.substr(1, text.size() - 2) : text);
}

Result<Parameters> readParameters(const std::vector<std::string>& arguments) {
  Parameters parameters;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    while (!name.empty() && std::string_view(":@$?").find(name[0]) != std::string_view::npos) name.erase(0, 1);
    if (equals == std::string::npos || name.empty())
      return Error{fmt::format("'{}' is no parameter: write -p name=value, for :name in the SQL.", argument)};
    parameters[name] = valueOf(std::string_view(argument).substr(equals + 1));
  }
  return parameters;
}

// Every parameter of the statement has a value, or it is an error: NULL by accident would give a wrong answer. A plain
// '?' has the name of its place, "1" for the first.
Status bindAll(Statement& statement, const Parameters& parameters, std::set<std::string>& used) {
  for (int i = 1; i <= statement.parameterCount(); ++i) {
    std::string name(statement.parameterName(i));
    if (name.empty()) name = fmt::format("{}", i);
    const auto given = parameters.find(name);
    if (given == parameters.end())
      return Error{fmt::format("The SQL's parameter {} has no value: give it with -p {}=value.", name, name)};
    used.insert(name);
    if (const auto* integer = std::get_if<int64_t>(&given->second)) statement.bind(i, *integer);
    if (const auto* real = std::get_if<double>(&given->second)) statement.bind(i, *real);
    if (const auto* text = std::get_if<std::string>(&given->second)) statement.bind(i, std::string_view(*text));
  }
  return Unit{};
}

// EXPLAIN QUERY PLAN's rows (id, parent, unused, text) as a tree.
class PlanTree {
 public:
  void add(int64_t id, int64_t parent, std::string text) { m_children[parent].emplace_back(id, std::move(text)); }
  [[nodiscard]] std::string text(int64_t of = 0, const std::string& indent = "") const {
    std::string result;
    const auto children = m_children.find(of);
    if (children == m_children.end() || indent.size() > kDeepest) return result;
    for (size_t i = 0; i < children->second.size(); ++i) {
      const auto& [id, line] = children->second[i];
      const bool isLast = i + 1 == children->second.size();
      result += indent + (isLast ? "└─ " : "├─ ") + line + "\n";
      result += text(id, indent + (isLast ? "   " : "│  "));
    }
    return result;
  }

 private:
  static constexpr size_t kDeepest = 1000;
  std::map<int64_t, std::vector<std::pair<int64_t, std::string>>> m_children;
};

Result<std::string> planOf(Database& database, std::string_view sql) {
  auto rows = database.prepare("EXPLAIN QUERY PLAN " + std::string(sql));
  if (!rows.ok()) return rows.error();
  PlanTree tree;
  Statement& row = rows.value();
  while (row.next()) tree.add(row.integer(0), row.integer(1), escaped(row.text(3)));
  if (const Status status = row.status(); !status.ok()) return status.error();
  return tree.text();
}

// Waits for a writer's next bytes, but not for a writer: a pipe without one is empty.
Result<std::string> readScript(const std::string& path) {
  constexpr size_t kMostBytes = 16u << 20;
  const std::string shown = path == "-" ? "standard input" : path;
  const auto refuse = [&](std::string_view why) { return Error{fmt::format("The script {} {}.", shown, why)}; };
  const int opened = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (opened < 0) return refuse(fmt::format("cannot be read: {}", std::strerror(errno)));
  const std::unique_ptr<const int, void (*)(const int*)> closer(&opened, [](const int* fd) { ::close(*fd); });
  struct stat status {};
  if (::fstat(opened, &status) != 0) return refuse(std::strerror(errno));
  const bool isReadable = S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) ||
                          path == "-" || ::isatty(opened) != 0;
  if (!isReadable) return refuse("is no file of text: name a regular file or a pipe");
  std::string text;
  std::array<char, 1 << 16> block{};
  while (true) {
    const ssize_t got = ::read(opened, block.data(), block.size());
    if (got < 0 && errno == EAGAIN) {
      pollfd wait{opened, POLLIN, 0};
      (void)::poll(&wait, 1, -1);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) return text;
    text.append(block.data(), static_cast<size_t>(got));
    if (text.size() > kMostBytes) return refuse("is larger than 16 MiB, which no script is");
  }
}

class Session {
 public:
  Session(Trace& trace, const QueryArguments& arguments, Parameters parameters)
      : m_database(trace.database()), m_arguments(arguments), m_parameters(std::move(parameters)) {}

  // All statements of the text, the result of each in the format. JSON of a script is an array of results.
  int run(const std::string& text, bool isScript) {
    const bool isList = isScript && m_arguments.format == Format::Json && !m_arguments.explain;
    if (isList) fmt::print("[");
    size_t at = 0;
    int64_t count = 0;
    for (;; ++count) {
      const size_t before = at;
      auto next = m_database.prepareNext(text, at);
      if (!next.ok()) return complain(next.error().message, kBadInput);
      if (!next.value()) break;
      if (count > 0 && !isScript)
        return complain("More than one SQL statement was given where one is expected: put them into a file for -f.",
                        kBadInput);
      if (count > 0) fmt::print("{}\n", isList ? "," : "");
      const std::string_view sql = std::string_view(text).substr(before, at - before);
      if (const int code = runOne(*next.value(), sql); code != kDone) return code;
    }
    if (isList) fmt::print("]\n");
    if (count == 0) return complain("The SQL text has no statement.", kBadInput);
    for (const auto& [name, value] : m_parameters) {
      if (!m_used.count(name)) return complain(fmt::format("The SQL has no parameter :{}.", name), kBadInput);
    }
    return kDone;
  }

 private:
  int runOne(Statement& statement, std::string_view sql) {
    if (const Status bound = bindAll(statement, m_parameters, m_used); !bound.ok())
      return complain(bound.error().message, kBadInput);
    if (m_arguments.explain) {
      const auto plan = planOf(m_database, sql);
      if (!plan.ok()) return complain(plan.error().message, kBadInput);
      fmt::print("{}", plan.value());
      return kDone;
    }
    const auto written = writeRows(statement, m_arguments.format, {}, stdout);
    return written.ok() ? kDone : complain(written.error().message, kFailed);
  }

  Database& m_database;
  const QueryArguments& m_arguments;
  Parameters m_parameters;
  std::set<std::string> m_used;
};

}  // namespace

int runQuery(const QueryArguments& arguments) {
  if (arguments.sql.empty() == arguments.script.empty())
    return complain("Give one SQL statement, or a script with -f: plumb query FILE \"SELECT …\".", kBadInput);
  auto parameters = readParameters(arguments.parameters);
  if (!parameters.ok()) return complain(parameters.error().message, kBadInput);
  const bool isScript = !arguments.script.empty();
  auto text = isScript ? readScript(arguments.script) : Result<std::string>(arguments.sql);
  if (!text.ok()) return complain(text.error().message, kBadInput);
  auto reports = findReports(arguments.folders);
  if (!reports.ok()) return complain(reports.error().message, kBadInput);
  auto opened = Trace::open(arguments.file);
  if (!opened.ok()) return complain(opened.error().message, kBadInput);
  Trace& trace = opened.value();
  if (const Status added = registerSqlSurface(trace, reports.value()); !added.ok())
    return complain(added.error().message, kFailed);
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return complain(snapshot.status().error().message, kBadInput);
  return Session(trace, arguments, std::move(parameters).value()).run(text.value(), isScript);
}

}  // namespace plumb::cli
