// SPDX-License-Identifier: Apache-2.0
#include "analyzer/reports/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <system_error>

#include "analyzer/reports/builtin_reports.h"
#include "analyzer/trace/sql_text.h"
#include "analyzer/trace/text_file.h"
#include "analyzer/trace/text_parts.h"

namespace plumb {
namespace {

// "name (unit): description"; false when it is not of this form.
bool parseColumn(std::string_view line, ReportColumn& column) {
  const size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return false;
  std::string_view name = line.substr(0, colon);
  const size_t unit = name.find(" (");
  if (unit != std::string_view::npos && name.back() == ')') {
    column.unit = name.substr(unit + 2, name.size() - unit - 3);
    name = name.substr(0, unit);
  }
  if (name.empty() || name.find(' ') != std::string_view::npos) return false;
  column.name = name;
  column.description = line.substr(colon + 2);
  return true;
}

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The names after ':' in the SQL, with the ':'.
std::set<std::string> parametersOf(std::string_view sql) {
  std::set<std::string> names;
  for (size_t at = 0; at < sql.size();) {
    size_t end = skipQuoted(sql, at);
    if (sql[at] == ':') {
      for (end = at + 1; end < sql.size() && isNameCharacter(sql[end]);) ++end;
      if (end > at + 1) names.emplace(sql.substr(at, end - at));
    }
    at = std::max(end, at + 1);
  }
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  }
  return text;
}

// Of the SQL behind the comments at the beginning.
Status readParameters(Report& report, std::string_view sql) {
  for (const std::string& name : parametersOf(sql)) {
    const auto known = std::ranges::find_if(kReportParameters, [&](const auto& p) { return name == p.sql; });
    if (known == kReportParameters.end()) {
      return Error{
          fmt::format("The {} {} ({}) uses the parameter {}; there are :rank, :step, :range, :from_ns, :to_ns and :by.",
                      report.noun, report.name, report.origin, name)};
    }
    report.takes[static_cast<size_t>(known - kReportParameters.begin())] = true;
  }
  if (report.takes[static_cast<size_t>(Limit::By)] == report.by.empty()) {
    return Error{
        fmt::format("The {} {} ({}) must have both or neither: a comment line `-- by: value, …` and :by in its SQL.",
                    report.noun, report.name, report.origin)};
  }
  return Unit{};
}

// A user's file, or what is wrong with it.
Report readReport(const std::string& name, const std::string& path) {
  Report broken;
  broken.name = name;
  broken.origin = path;
  constexpr uintmax_t kMostBytes = 1 << 20;
  auto text = readTextFile("The report", path, kMostBytes);
  if (!text.ok()) {
    broken.problem = text.error().message;
    return broken;
  }
  auto report = parseReport(name, text.value(), path);
  if (report.ok()) return std::move(report).value();
  broken.problem = report.error().message;
  return broken;
}

Status readOwn(Report& report, std::string_view list) {
  for (const std::string& filter : commaList(list)) {
    bool* own = filter == "step" ? &report.hasOwnStep : filter == "range" ? &report.hasOwnRange : nullptr;
    if (!own) {
      return Error{fmt::format("The {} {} ({}) says `-- own: {}`; a meaning of its own can have step and range.",
                               report.noun, report.name, report.origin, filter)};
    }
    *own = true;
  }
  return Unit{};
}

// "step, range: why not"
Status readRefusal(Report& report, std::string_view text) {
  const size_t colon = text.find(": ");
  const std::string_view reason =
      colon == std::string_view::npos ? std::string_view() : trimmed(text.substr(colon + 2));
  for (const std::string& filter : commaList(text.substr(0, colon))) {
    const auto known = std::ranges::find(kReportParameters, "--" + filter, &ReportParameter::option);
    if (known == kReportParameters.end() || reason.empty()) {
      return Error{
          fmt::format("The {} {} ({}) says `-- no: {}`; it is to be read as `-- no: step, range: why not`, with"
                      " rank, step, range, from, to and by.",
                      report.noun, report.name, report.origin, text)};
    }
    report.refusals[static_cast<size_t>(known - kReportParameters.begin())] = reason;
  }
  return Unit{};
}

Status checkRefusals(const Report& report) {
  for (size_t i = 0; i < report.takes.size(); ++i) {
    if (!report.takes[i] || report.refusals[i].empty()) continue;
    return Error{fmt::format("The {} {} ({}) says why it takes no {}, and its SQL uses {}.", report.noun, report.name,
                             report.origin, kReportParameters[i].option, kReportParameters[i].sql)};
  }
  return Unit{};
}

}  // namespace

std::string Report::optionList() const {
  std::vector<std::string> options;
  for (size_t i = 0; i < takes.size(); ++i) {
    if (takes[i]) options.emplace_back(kReportParameters[i].option);
  }
  return options.empty() ? "none" : joined(options);
}

std::vector<std::string> Report::refusalLines() const {
  std::vector<std::string> lines;
  std::set<std::string> said{""};
  for (const std::string& reason : refusals) {
    if (!said.insert(reason).second) continue;
    std::vector<std::string> options;
    for (size_t i = 0; i < refusals.size(); ++i) {
      if (refusals[i] == reason) options.emplace_back(kReportParameters[i].option);
    }
    lines.push_back(fmt::format("no {}: {}", joined(options), reason));
  }
  return lines;
}

Filter Report::lookedUp(Filter filter) const {
  if (hasOwnStep) filter.step.reset();
  if (hasOwnRange) filter.range.reset();
  return filter;
}

Status checkRequest(const Report& report, const ReportRequest& request) {
  const Filter& filter = request.filter;
  const bool isSet[] = {filter.rank.has_value(), filter.step.has_value(), filter.range.has_value(),
                        filter.from.has_value(), filter.to.has_value(),   request.by.has_value()};
  for (size_t i = 0; i < kReportParameters.size(); ++i) {
    if (!isSet[i] || report.takes[i]) continue;
    return Error{fmt::format("The {} {} takes no {}{}{}; of the filters it takes {}.", report.noun, report.name,
                             kReportParameters[i].option, report.refusals[i].empty() ? "" : ": ", report.refusals[i],
                             report.optionList())};
  }
  if (request.by && std::ranges::find(report.by, *request.by) == report.by.end()) {
    return Error{
        fmt::format("The report {} has no --by '{}'; it has {}.", report.name, *request.by, joined(report.by))};
  }
  return Unit{};
}

Result<Statement> prepareReport(Database& database, const Report& report, const ReportRequest& request) {
  if (!report.problem.empty()) return Error{report.problem};
  if (Status fits = checkRequest(report, request); !fits.ok()) return fits.error();
  auto prepared = database.prepare(report.sql);
  if (!prepared.ok()) {
    return Error{
        fmt::format("The {} {} ({}) failed: {}", report.noun, report.name, report.origin, prepared.error().message)};
  }
  Statement& statement = prepared.value();
  const auto bind = [&](Limit limit, const auto& value) {
    const int parameter = statement.parameterIndex(kReportParameters[static_cast<size_t>(limit)].sql);
    if (parameter > 0 && value) statement.bind(parameter, *value);
  };
  const auto nanoseconds = [](std::optional<TimePoint> time) {
    return time ? std::optional(time->ns()) : std::nullopt;
  };
  const Filter& filter = request.filter;
  bind(Limit::Rank, filter.rank);
  bind(Limit::Step, filter.step);
  bind(Limit::Range, filter.range);
  bind(Limit::From, nanoseconds(filter.from));
  bind(Limit::To, nanoseconds(filter.to));
  bind(Limit::By, request.by || report.by.empty() ? request.by : report.by.front());
  return prepared;
}

Result<Report> parseReport(std::string_view name, std::string_view text, std::string_view origin, const char* noun) {
  Report report;
  report.noun = noun;
  report.name = name;
  report.sql = text;
  report.origin = origin;
  size_t begin = 0;  // of the line
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(text.substr(begin, end - begin));
    if (line.substr(0, 2) != "--") break;
    begin = end + 1;
    const std::string_view comment = trimmed(line.substr(2));
    if (comment.substr(0, 5) == "SPDX-" || comment.empty()) continue;
    if (report.title.empty()) {
      report.title = comment;
    } else if (report.question.empty()) {
      report.question = comment;
    } else if (comment.substr(0, 3) == "by:") {
      report.by = commaList(comment.substr(3));
    } else if (comment.substr(0, 6) == "empty:") {
      report.whenEmpty = trimmed(comment.substr(6));
    } else if (comment.substr(0, 4) == "own:") {
      if (Status read = readOwn(report, comment.substr(4)); !read.ok()) return read.error();
    } else if (comment.substr(0, 3) == "no:") {
      if (Status read = readRefusal(report, trimmed(comment.substr(3))); !read.ok()) return read.error();
    } else if (ReportColumn column; parseColumn(comment, column)) {
      report.columns.push_back(std::move(column));
    }
  }
  if (report.title.empty() || report.question.empty()) {
    return Error{fmt::format("The {} {} ({}) must begin with two comment lines: its title and the question it answers.",
                             noun, name, origin)};
  }
  if (Status read = readParameters(report, text.substr(std::min(begin, text.size()))); !read.ok()) return read.error();
  if (Status checked = checkRefusals(report); !checked.ok()) return checked.error();
  return report;
}

namespace {

std::vector<std::string> namedFolders(const char* variable) {
  std::vector<std::string> folders;
  const char* named = std::getenv(variable);
  std::istringstream list(named ? named : "");
  for (std::string folder; std::getline(list, folder, ':');) {
    if (!folder.empty()) folders.push_back(folder);
  }
  return folders;
}

}  // namespace

std::vector<std::string> userFolders(const std::string& name, const char* variable) {
  std::vector<std::string> folders;
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config && *config) {
    folders.push_back(std::string(config) + "/plumb/" + name);
  } else if (home && *home) {
    folders.push_back(std::string(home) + "/.config/plumb/" + name);
  }
  for (std::string& folder : namedFolders(variable)) folders.push_back(std::move(folder));
  return folders;
}

std::vector<std::string> unreadableFolders(const char* variable) {
  namespace fs = std::filesystem;
  std::vector<std::string> sentences;
  for (const std::string& folder : namedFolders(variable)) {
    std::error_code failed;
    const fs::directory_iterator entries(folder, failed);
    if (!failed) continue;
    sentences.push_back(
        fmt::format("{} names the folder {}, which cannot be read ({}).", variable, folder, failed.message()));
  }
  return sentences;
}

std::vector<std::string> userReportFolders() { return userFolders("reports", "PLUMB_REPORTS"); }

Result<std::vector<Report>> findReports(const std::vector<std::string>& userFolders) {
  namespace fs = std::filesystem;
  std::map<std::string, Report> found;
  for (const BuiltinReport& builtin : builtinReports()) {
    auto report = parseReport(builtin.name, builtin.text, "built in");
    if (!report.ok()) return report.error();
    found.emplace(builtin.name, std::move(report).value());
  }
  for (const std::string& folder : userFolders) {
    std::error_code failed;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
      if (entry.path().extension() != ".sql") continue;
      const std::string name = entry.path().stem().string();
      found.insert_or_assign(name, readReport(name, entry.path().string()));
    }
  }
  std::vector<Report> reports;
  for (auto& [name, report] : found) reports.push_back(std::move(report));
  return reports;
}

}  // namespace plumb
