// SPDX-License-Identifier: Apache-2.0
#include "analyzer/reports/reports.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>

#include "analyzer/reports/builtin_reports.h"

namespace plumb {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

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

}  // namespace

Result<Report> parseReport(std::string_view name, std::string_view text, std::string_view origin) {
  Report report;
  report.name = name;
  report.sql = text;
  report.origin = origin;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(text.substr(at, end - at));
    at = end + 1;
    if (line.substr(0, 2) != "--") break;
    const std::string_view comment = trimmed(line.substr(2));
    if (comment.substr(0, 5) == "SPDX-" || comment.empty()) continue;
    if (report.title.empty()) {
      report.title = comment;
    } else if (report.question.empty()) {
      report.question = comment;
    } else if (ReportColumn column; parseColumn(comment, column)) {
      report.columns.push_back(std::move(column));
    }
  }
  if (report.title.empty() || report.question.empty()) {
    return Error{fmt::format(
        "The report {} ({}) must begin with two comment lines: its title and the question it answers.", name, origin)};
  }
  return report;
}

Result<std::vector<Report>> findReports(const std::vector<std::string>& userFolders) {
  namespace fs = std::filesystem;
  std::map<std::string, Report> found;
  const auto add = [&](std::string_view name, std::string_view text, std::string_view origin) -> Status {
    auto report = parseReport(name, text, origin);
    if (!report.ok()) return report.error();
    found.insert_or_assign(std::string(name), std::move(report).value());
    return Unit{};
  };
  for (const BuiltinReport& builtin : builtinReports()) {
    if (const Status added = add(builtin.name, builtin.text, "built in"); !added.ok()) return added.error();
  }
  for (const std::string& folder : userFolders) {
    std::error_code failed;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
      if (entry.path().extension() != ".sql") continue;
      std::ifstream file(entry.path(), std::ios::binary);
      if (!file) return Error{fmt::format("The report {} cannot be read.", entry.path().string())};
      const std::string text(std::istreambuf_iterator<char>(file), {});
      if (const Status added = add(entry.path().stem().string(), text, entry.path().string()); !added.ok())
        return added.error();
    }
  }
  std::vector<Report> reports;
  for (auto& [name, report] : found) reports.push_back(std::move(report));
  return reports;
}

}  // namespace plumb
