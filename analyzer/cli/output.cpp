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

Status writeCsv(Statement& rows, std::FILE* out) {
  std::string line;
  for (const std::string& name : columnNames(rows)) {
    if (!line.empty()) line += ',';
    line += csvField(name);
  }
  line += "\r\n";
  if (Status done = put(line, out); !done.ok()) return done;
  while (rows.next()) {
    line.clear();
    for (int i = 0; i < rows.columnCount(); ++i) {
      if (i > 0) line += ',';
      line += csvField(repaired(plainCell(rows, i)));
    }
    line += "\r\n";
    if (Status done = put(line, out); !done.ok()) return done;
  }
  return rows.status();
}

Status writeJson(Statement& rows, std::FILE* out) {
  std::vector<std::string> keys;
  for (const std::string& name : columnNames(rows)) keys.push_back(jsonText(name));
  std::string line = "[";
  const char* separator = "\n";
  while (rows.next()) {
    line += separator;
    separator = ",\n";
    for (int i = 0; i < rows.columnCount(); ++i) {
      line += i == 0 ? "{" : ", ";
      line += keys[static_cast<size_t>(i)];
      line += ": ";
      line += jsonCell(rows, i);
    }
    line += "}";
    if (Status done = put(line, out); !done.ok()) return done;
    line.clear();
  }
  if (Status status = rows.status(); !status.ok()) return status;
  return put(line + "\n]\n", out);
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

Status writeTable(Statement& rows, const std::vector<ReportColumn>& columns, std::FILE* out) {
  std::vector<std::string> headers, units;
  for (const std::string& name : columnNames(rows)) {
    const auto known =
        std::find_if(columns.begin(), columns.end(), [&](const ReportColumn& c) { return c.name == name; });
    units.push_back(known == columns.end() ? "" : known->unit);
    headers.push_back(escaped(headerOf(name, units.back())));
  }
  std::vector<TextTable::Align> aligns(headers.size(), TextTable::Align::Right);
  size_t total = 0;
  for (bool more = true; more;) {
    std::vector<std::vector<std::string>> block;
    while (block.size() < kTableBlock && (more = rows.next())) {
      std::vector<std::string> cells;
      for (int i = 0; i < rows.columnCount(); ++i) {
        cells.push_back(tableCell(rows, i, units[static_cast<size_t>(i)]));
        if (rows.type(i) == ValueType::Text) aligns[static_cast<size_t>(i)] = TextTable::Align::Left;
      }
      block.push_back(std::move(cells));
    }
    if (!more && block.empty()) break;
    total += block.size();
    TextTable table(headers, aligns);
    for (auto& row : block) table.add(std::move(row));
    if (Status done = put(table.text(), out); !done.ok()) return done;
  }
  if (Status status = rows.status(); !status.ok()) return status;
  if (total == 0) return put("no rows\n", out);
  return Unit{};
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

Status writeRows(Statement& rows, Format format, const std::vector<ReportColumn>& columns, std::FILE* out) {
  Status written = format == Format::Csv    ? writeCsv(rows, out)
                   : format == Format::Json ? writeJson(rows, out)
                                            : writeTable(rows, columns, out);
  if (written.ok() && std::fflush(out) != 0) return writeError();
  return written;
}

}  // namespace plumb::cli
