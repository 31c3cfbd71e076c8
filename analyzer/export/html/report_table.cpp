// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/html/report_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/cli/text.h"
#include "analyzer/export/html/html_text.h"

namespace plumb::exports {
namespace {

// What the cells of a unit say by themselves, and how names of columns end in it.
struct Unit {
  std::string_view unit, ending, word;
};
constexpr std::array<Unit, 7> kUnits = {{{"ns", "_ns", "time"},
                                         {"%", "_pct", "%"},
                                         {"bytes/s", "_bytes_per_s", "rate"},
                                         {"FLOP/s", "_flops_per_s", "rate"},
                                         {"FLOP/s", "flops_per_s", "rate"},
                                         {"bytes/s", "bytes_per_s", "rate"},
                                         {"bytes", "_bytes", "bytes"}}};

std::string_view wordOf(std::string_view part) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {{"avg", "mean"},
                                                                             {"min", "shortest"},
                                                                             {"max", "longest"},
                                                                             {"stddev", "deviation"},
                                                                             {"pid", "process id"},
                                                                             {"tid", "thread"},
                                                                             {"cpu", "CPU"},
                                                                             {"gpu", "GPU"},
                                                                             {"api", "API call"},
                                                                             {"op", "operator"},
                                                                             {"ops", "operators"},
                                                                             {"flops", "FLOPs"},
                                                                             {"algbw", "algorithm bandwidth"},
                                                                             {"busbw", "bus bandwidth"},
                                                                             {"is", ""},
                                                                             {"pct", "%"}};
  for (const auto& [known, word] : kWords) {
    if (known == part) return word;
  }
  return part;
}

const ReportColumn& describedColumn(const std::vector<ReportColumn>& columns, const ReportColumn& fallback) {
  const auto found = std::ranges::find(columns, fallback.name, &ReportColumn::name);
  return found == columns.end() ? fallback : *found;
}

bool isYesOrNo(const ReportColumn& column) {
  return column.description.starts_with("1: ") || column.name.starts_with("is_");
}

// A number that names something and counts nothing.
bool isName(const ReportColumn& column) {
  return column.name == "pid" || column.name == "tid" || column.name == "id" || column.name.ends_with("_id");
}

struct Cell {
  std::string text, exact;  // exact: "" where the text is
};

Cell numberCell(const Statement& row, int index, const ReportColumn& column) {
  const double value = row.real(index);
  const bool isInteger = row.type(index) == ValueType::Integer;
  const std::string exact = isInteger ? std::string(row.text(index)) : fmt::format("{}", value);
  const auto with = [&](std::string text) { return Cell{std::move(text), exact + " " + column.unit}; };
  if (column.unit == "ns") return with(cli::formatDuration(value));
  if (column.unit == "bytes") return with(cli::formatBytes(value));
  if (column.unit == "%") return with(cli::formatPercent(value));
  if (column.unit == "bytes/s") return with(cli::formatPerSecond(value, "B"));
  if (column.unit == "FLOP/s") return with(cli::formatPerSecond(value, "FLOP"));
  if (isInteger && isYesOrNo(column)) return {row.integer(index) != 0 ? "yes" : "no", {}};
  if (isInteger && isName(column)) return {exact, {}};
  if (isInteger) return {cli::formatCount(row.integer(index)), {}};
  return {fmt::format("{:.4g}", value), exact};
}

std::string cellOf(const Statement& row, int index, const ReportColumn& column) {
  // Sentences are there to be read; names can be very long.
  static constexpr std::string_view kSentences[] = {"reason", "evidence", "remedy", "reference", "reference_note"};
  const bool isSentence = std::ranges::find(kSentences, column.name) != std::end(kSentences);
  const size_t widest = isSentence ? 600 : 90;
  const ValueType type = row.type(index);
  if (type == ValueType::Null) return "<td>–</td>";
  if (type == ValueType::Text || type == ValueType::Blob) {
    const std::string_view whole = row.text(index);
    const std::string shown = cli::shortened(whole, widest);
    constexpr size_t kLongestTip = 1000;
    const std::string tip =
        shown == whole ? std::string() : fmt::format(" title=\"{}\"", html(cli::shortened(whole, kLongestTip)));
    return fmt::format("<td class=\"text\"{}>{}</td>", tip, html(shown));
  }
  const Cell cell = numberCell(row, index, column);
  return cell.exact.empty() ? fmt::format("<td>{}</td>", html(cell.text))
                            : fmt::format("<td title=\"{}\">{}</td>", html(cell.exact), html(cell.text));
}

}  // namespace

std::string columnTitle(std::string_view name, std::string_view unit) {
  bool isInCells = unit.empty();
  std::string_view rest = name;
  for (const Unit& known : kUnits) {
    if (known.unit != unit) continue;
    isInCells = true;
    if (rest == name && rest.ends_with(known.ending) && rest.size() > known.ending.size()) {
      rest.remove_suffix(known.ending.size());
    }
  }
  std::string title;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('_'), rest.size());
    const std::string_view word = wordOf(rest.substr(0, end));
    if (!word.empty()) title += fmt::format("{}{}", title.empty() ? "" : " ", word);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!title.empty() && title.front() >= 'a' && title.front() <= 'z') title.front() -= 'a' - 'A';
  return isInCells ? title : fmt::format("{} ({})", title, unit);
}

std::vector<std::string> columnTitles(const std::vector<ReportColumn>& columns) {
  std::vector<std::string> plain, titles;
  for (const ReportColumn& column : columns) plain.push_back(columnTitle(column.name, column.unit));
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto unit = std::ranges::find(kUnits, columns[i].unit, &Unit::unit);
    const bool isTwice = std::ranges::count(plain, plain[i]) > 1 && unit != kUnits.end();
    titles.push_back(isTwice ? fmt::format("{} {}", plain[i], unit->word) : plain[i]);
  }
  return titles;
}

Result<ReportTable> tableOf(Statement& statement, const Report& report, size_t mostRows) {
  std::vector<ReportColumn> columns;
  for (int i = 0; i < statement.columnCount(); ++i) {
    columns.push_back(describedColumn(report.columns, {std::string(statement.columnName(i)), {}, {}}));
  }
  ReportTable table;
  std::vector<std::vector<std::string>> lines;
  std::vector<bool> used(columns.size(), false), isText(columns.size(), false);
  bool hasRanks = true;
  while (statement.next()) {
    ++table.rows;
    if (lines.size() >= mostRows) {
      ++table.notShown;
      continue;
    }
    std::vector<std::string> line;
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto index = static_cast<int>(i);
      const ValueType type = statement.type(index);
      used[i] = used[i] || (type != ValueType::Null && !(type == ValueType::Text && statement.text(index).empty()));
      isText[i] = isText[i] || type == ValueType::Text;
      if (columns[i].name == "rank" && type == ValueType::Null) hasRanks = false;
      line.push_back(cellOf(statement, index, columns[i]));
    }
    lines.push_back(std::move(line));
  }
  if (Status read = statement.status(); !read.ok()) return read.error();
  const bool isByRank = std::ranges::find(columns, "rank", &ReportColumn::name) != columns.end() && hasRanks;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (isByRank && columns[i].name == "pid") used[i] = false;
  }

  const std::vector<std::string> titles = columnTitles(columns);
  std::string legend;
  table.html = "<div class=\"wide\"><table><tr>";
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!used[i]) continue;
    const std::string tip = html(columns[i].description);
    table.html += fmt::format("<th{} title=\"{}\">{}</th>", isText[i] ? " class=\"text\"" : "", tip, html(titles[i]));
    if (!tip.empty()) legend += fmt::format("<li><b>{}</b>: {}</li>\n", html(titles[i]), tip);
  }
  table.html += "</tr>\n";
  for (const std::vector<std::string>& line : lines) {
    table.html += "<tr>";
    for (size_t i = 0; i < columns.size(); ++i) {
      if (used[i]) table.html += line[i];
    }
    table.html += "</tr>\n";
  }
  table.html += "</table></div>\n";
  if (!legend.empty()) {
    table.html += "<details><summary>What the columns say</summary><ul>\n" + legend + "</ul></details>\n";
  }
  return table;
}

}  // namespace plumb::exports
