// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "analyzer/cli/text.h"

namespace plumb::cli {
namespace {

constexpr size_t kTableBlock = 5000;  // rows that share column widths

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

// The shortest digits that read back as the same number.
std::string plainReal(double value) { return fmt::format("{}", value); }

std::string plainCell(const Statement& row, int column) {
  switch (row.type(column)) {
    case ValueType::Integer:
      return fmt::format("{}", row.integer(column));
    case ValueType::Real:
      return plainReal(row.real(column));
    case ValueType::Text:
      return std::string(row.text(column));
    case ValueType::Blob:
      return hex(row.blob(column));
    case ValueType::Null:
      return {};
  }
  return {};
}

std::string csvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

std::string jsonText(std::string_view text) { return nlohmann::json(repaired(text)).dump(); }

std::string jsonCell(const Statement& row, int column) {
  switch (row.type(column)) {
    case ValueType::Real:
      return std::isfinite(row.real(column)) ? plainReal(row.real(column)) : "null";
    case ValueType::Text:
      return jsonText(row.text(column));
    case ValueType::Blob:
      return jsonText(hex(row.blob(column)));
    case ValueType::Null:
      return "null";
    default:
      return plainCell(row, column);
  }
}

std::string tableCell(const Statement& row, int column, const std::string& unit) {
  const ValueType type = row.type(column);
  if (type == ValueType::Null) return "-";
  const bool isNumber = type == ValueType::Integer || type == ValueType::Real;
  if (isNumber && unit == "ns") return formatDuration(row.real(column));
  if (isNumber && unit == "bytes") return formatBytes(row.real(column));
  if (isNumber && unit == "%") return formatPercent(row.real(column));
  if (isNumber && unit == "bytes/s") return formatPerSecond(row.real(column), "B");
  if (isNumber && unit == "FLOP/s") return formatPerSecond(row.real(column), "FLOP");
  if (type == ValueType::Real) return fmt::format("{:.6g}", row.real(column));
  return escaped(plainCell(row, column));
}

// Column names, made different where a query has two alike: an object's keys must be.
std::vector<std::string> columnNames(const Statement& rows) {
  std::vector<std::string> names;
  std::set<std::string> used;
  for (int i = 0; i < rows.columnCount(); ++i) {
    const std::string name(rows.columnName(i));
    std::string unique = name;
    for (int copy = 2; !used.insert(unique).second; ++copy) unique = fmt::format("{}_{}", name, copy);
    names.push_back(unique);
  }
  return names;
}

Error writeError() { return Error{fmt::format("The output could not be written ({}).", std::strerror(errno))}; }

Status put(const std::string& text, std::FILE* out) {
  if (std::fwrite(text.data(), 1, text.size(), out) != text.size()) return writeError();
  return Unit{};
}

Result<int64_t> writeCsv(Statement& rows, std::FILE* out) {
  std::string line;
  for (const std::string& name : columnNames(rows)) {
    if (!line.empty()) line += ',';
    line += csvField(name);
  }
  line += "\r\n";
  if (Status done = put(line, out); !done.ok()) return done.error();
  int64_t total = 0;
  for (; rows.next(); ++total) {
    line.clear();
    for (int i = 0; i < rows.columnCount(); ++i) {
      if (i > 0) line += ',';
      line += csvField(repaired(plainCell(rows, i)));
    }
    line += "\r\n";
    if (Status done = put(line, out); !done.ok()) return done.error();
  }
  if (Status status = rows.status(); !status.ok()) return status.error();
  return total;
}

Result<int64_t> writeJson(Statement& rows, std::FILE* out) {
  std::vector<std::string> keys;
  for (const std::string& name : columnNames(rows)) keys.push_back(jsonText(name));
  std::string line = "[";
  const char* separator = "\n";
  int64_t total = 0;
  for (; rows.next(); ++total) {
    line += separator;
    separator = ",\n";
    for (int i = 0; i < rows.columnCount(); ++i) {
      line += i == 0 ? "{" : ", ";
      line += keys[static_cast<size_t>(i)];
      line += ": ";
      line += jsonCell(rows, i);
    }
    line += "}";
    if (Status done = put(line, out); !done.ok()) return done.error();
    line.clear();
  }
  if (Status status = rows.status(); !status.ok()) return status.error();
  if (Status done = put(line + "\n]\n", out); !done.ok()) return done.error();
  return total;
}

// "total_ns" is "total" in a table whose cells have the unit.
std::string headerOf(const std::string& name, const std::string& unit) {
  const auto without = [&](std::string_view suffix) {
    const bool ends =
        name.size() > suffix.size() && std::string_view(name).substr(name.size() - suffix.size()) == suffix;
    return ends ? name.substr(0, name.size() - suffix.size()) : name;
  };
  if (unit == "ns") return without("_ns");
  if (unit == "%") return without("_pct");
  if (unit == "bytes/s") return without("_bytes_per_s");
  return name;
}

struct Headers {
  std::vector<std::string> texts, units;
};
Headers headersOf(const Statement& rows, const std::vector<ReportColumn>& columns) {
  Headers headers;
  for (const std::string& name : columnNames(rows)) {
    const auto known =
        std::find_if(columns.begin(), columns.end(), [&](const ReportColumn& c) { return c.name == name; });
    headers.units.push_back(known == columns.end() ? "" : known->unit);
    headers.texts.push_back(escaped(headerOf(name, headers.units.back())));
  }
  // idle_ns and idle_pct would both be "idle".
  const std::vector<std::string> names = columnNames(rows), shortened = headers.texts;
  for (size_t i = 0; i < names.size(); ++i) {
    if (headers.units[i] == "%" && std::ranges::count(shortened, shortened[i]) > 1) headers.texts[i] += " %";
  }
  return headers;
}

// A cell of Markdown: characters that would become markup or end the cell are kept as they are with a backslash.
std::string markdownCell(const std::string& text) {
  const auto isWord = [&](size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || (text[i] & 0x80) != 0);
  };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool isInsideWord = i > 0 && isWord(i - 1) && isWord(i + 1);
    if (std::strchr("\\`*[]<>|&~#", text[i]) || (text[i] == '_' && !isInsideWord)) result += '\\';
    result += text[i];
  }
  return result;
}

Result<int64_t> writeMarkdown(Statement& rows, const std::vector<ReportColumn>& columns, std::FILE* out) {
  const Headers headers = headersOf(rows, columns);
  int64_t total = 0;
  for (bool more = rows.next(); more || total == 0; more = rows.next()) {
    if (Status status = rows.status(); !status.ok()) return status.error();
    std::string line;
    if (total == 0) {  // the first row says which columns are text
      std::string rule = "|";
      line = "|";
      for (int i = 0; i < rows.columnCount(); ++i) {
        line += " " + markdownCell(headers.texts[static_cast<size_t>(i)]) + " |";
        rule += more && rows.type(i) == ValueType::Text ? "---|" : "---:|";
      }
      line += "\n" + rule + "\n";
    }
    if (more) {
      line += "|";
      for (int i = 0; i < rows.columnCount(); ++i) {
        line += " " + markdownCell(tableCell(rows, i, headers.units[static_cast<size_t>(i)])) + " |";
      }
      line += "\n";
      ++total;
    }
    if (Status done = put(line, out); !done.ok()) return done.error();
    if (!more) break;
  }
  if (Status status = rows.status(); !status.ok()) return status.error();
  return total;
}

Result<int64_t> writeTable(Statement& rows, const std::vector<ReportColumn>& columns, std::FILE* out) {
  const Headers headers = headersOf(rows, columns);
  std::vector<TextTable::Align> aligns(headers.texts.size(), TextTable::Align::Right);
  int64_t total = 0;
  for (bool more = true; more;) {
    std::vector<std::vector<std::string>> block;
    while (block.size() < kTableBlock && (more = rows.next())) {
      std::vector<std::string> cells;
      for (int i = 0; i < rows.columnCount(); ++i) {
        cells.push_back(tableCell(rows, i, headers.units[static_cast<size_t>(i)]));
        if (rows.type(i) == ValueType::Text) aligns[static_cast<size_t>(i)] = TextTable::Align::Left;
      }
      block.push_back(std::move(cells));
    }
    if (!more && block.empty()) break;
    total += static_cast<int64_t>(block.size());
    TextTable table(headers.texts, aligns);
    for (auto& row : block) table.add(std::move(row));
    if (Status done = put(table.text(), out); !done.ok()) return done.error();
  }
  if (Status status = rows.status(); !status.ok()) return status.error();
  if (total == 0) {
    if (Status done = put("no rows\n", out); !done.ok()) return done.error();
  }
  return total;
}

}  // namespace

std::string TextTable::text(size_t indent) const {
  std::vector<size_t> widths;
  for (const std::string& header : m_headers) widths.push_back(width(header));
  for (const auto& row : m_rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string result;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text(indent, ' ');
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - width(cells[i]), ' ');
      if (i > 0) text += "  ";
      text += m_aligns[i] == Align::Left ? cells[i] + padding : padding + cells[i];
    }
    text.erase(text.find_last_not_of(' ') + 1);
    result += text + "\n";
  };
  line(m_headers);
  for (const auto& row : m_rows) line(row);
  return result;
}

Result<int64_t> writeRows(Statement& rows, Format format, const std::vector<ReportColumn>& columns, std::FILE* out) {
  const auto write = [&] {
    switch (format) {
      case Format::Csv:
        return writeCsv(rows, out);
      case Format::Json:
        return writeJson(rows, out);
      case Format::Markdown:
        return writeMarkdown(rows, columns, out);
      case Format::Table:
        break;
    }
    return writeTable(rows, columns, out);
  };
  auto written = write();
  if (written.ok() && std::fflush(out) != 0) return writeError();
  return written;
}

}  // namespace plumb::cli
