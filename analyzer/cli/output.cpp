// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "analyzer/cli/table_fit.h"
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
  if (isNumber && unit == "FLOP") {
    const std::string perSecond = formatPerSecond(row.real(column), "FLOP");
    return perSecond.substr(0, perSecond.size() - 2);
  }
  if (type == ValueType::Real) {
    constexpr double kMostWhole = 1e15;
    const double value = row.real(column);
    const bool isWhole = std::abs(value) < kMostWhole && value == std::floor(value);
    return isWhole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
  }
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

// Characters that would become markup or end a cell are kept as they are with a backslash.
std::string markdownCell(std::string_view text) {
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

// Rows as texts, and which of their columns are to be shown.
struct TextRows {
  std::vector<std::vector<std::string>> cells;
  std::vector<bool> isText, isShown;
};

// Reads a result in blocks of rows for people: of a report, columns that are empty in every row are left out, and names
// are cut.
class BlockReader {
 public:
  BlockReader(Statement& rows, const std::vector<ReportColumn>& columns)
      : m_rows(rows), m_headers(headersOf(rows, columns)), m_isReport(!columns.empty()) {
    const auto count = static_cast<size_t>(rows.columnCount());
    m_block.isText.assign(count, false);
    m_block.isShown.assign(count, true);
    m_isKnown.assign(count, !m_isReport);
    for (const std::string& name : columnNames(rows)) {
      m_isName.push_back(m_isReport && (name == "name" || name == "shape"));
      m_isPid.push_back(m_isReport && name == "pid");
    }
  }

  // Null at the end.
  [[nodiscard]] const TextRows* next() {
    if (!m_more) return nullptr;  // another step would begin the statement anew
    const bool isFirst = m_count == 0;
    read();
    if (isFirst && m_more && std::ranges::count(m_isKnown, false) > 0) {
      // Whether a column is empty shows at the end of the result only.
      while (std::ranges::count(m_isKnown, false) > 0 && m_rows.next()) noteKnown();
      if (!m_rows.status().ok()) {
        m_more = false;
        return nullptr;
      }
      m_rows.reset();
      m_count = 0;
      read();
    }
    if (isFirst && m_count > 0 && std::ranges::count(m_isKnown, true) > 0) m_block.isShown = m_isKnown;
    return m_block.cells.empty() ? nullptr : &m_block;
  }

  [[nodiscard]] Status status() const { return m_rows.status(); }
  [[nodiscard]] int64_t count() const { return m_count; }
  [[nodiscard]] std::vector<std::string> shown(const std::vector<std::string>& cells) const {
    std::vector<std::string> result;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (m_block.isShown[i]) result.push_back(cells[i]);
    }
    return result;
  }
  [[nodiscard]] const Headers& headers() const { return m_headers; }
  // What a reader does not see, in a sentence; "" for nothing.
  [[nodiscard]] std::string leftOut() const {
    std::string names;
    for (size_t i = 0; i < m_headers.texts.size(); ++i) {
      if (!m_block.isShown[i]) names += (names.empty() ? "" : ", ") + m_headers.texts[i];
    }
    std::string text = names.empty() ? "" : "left out, because empty in every row: " + names + "\n";
    if (m_isCut)
      text += fmt::format("cut: names of more than {} characters; --format csv has them whole\n", kLongestName);
    return text;
  }

 private:
  static constexpr size_t kLongestName = 120;

  // No process has the id 0: the source does not tell it.
  [[nodiscard]] bool isUnknown(int column) const {
    return m_rows.isNull(column) || (m_isPid[static_cast<size_t>(column)] &&
                                     m_rows.type(column) == ValueType::Integer && m_rows.integer(column) == 0);
  }
  void noteKnown() {
    for (size_t i = 0; i < m_isKnown.size(); ++i) {
      if (m_isKnown[i]) continue;
      const int column = static_cast<int>(i);
      m_isKnown[i] = !isUnknown(column) && !(m_rows.type(column) == ValueType::Text && m_rows.text(column).empty());
    }
  }
  void read() {
    m_block.cells.clear();
    m_more = true;
    while (m_block.cells.size() < kTableBlock && (m_more = m_rows.next())) {
      noteKnown();
      std::vector<std::string> cells;
      for (int i = 0; i < m_rows.columnCount(); ++i) {
        const auto index = static_cast<size_t>(i);
        cells.push_back(isUnknown(i) ? "-" : tableCell(m_rows, i, m_headers.units[index]));
        if (m_rows.type(i) == ValueType::Text) m_block.isText[index] = true;
        if (m_isName[index] && width(cells.back()) > kLongestName) {
          cells.back() = shortened(cells.back(), kLongestName);
          m_isCut = true;
        }
      }
      m_block.cells.push_back(std::move(cells));
    }
    m_count += static_cast<int64_t>(m_block.cells.size());
  }

  Statement& m_rows;
  Headers m_headers;
  bool m_isReport, m_more = true, m_isCut = false;
  std::vector<bool> m_isKnown, m_isName, m_isPid;
  TextRows m_block;
  int64_t m_count = 0;
};

std::string markdownLine(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + markdownCell(cell) + " |";
  return line + "\n";
}

Result<int64_t> writeMarkdown(Statement& rows, const std::vector<ReportColumn>& columns, std::FILE* out) {
  BlockReader reader(rows, columns);
  const auto head = [&](const TextRows* block) {
    std::string text = markdownLine(reader.shown(reader.headers().texts)) + "|";
    for (size_t i = 0; i < reader.headers().texts.size(); ++i) {
      if (!block || block->isShown[i]) text += block && block->isText[i] ? "---|" : "---:|";
    }
    return text + "\n";
  };
  bool isFirst = true;
  while (const TextRows* block = reader.next()) {
    std::string text = isFirst ? head(block) : "";
    isFirst = false;
    for (const auto& row : block->cells) text += markdownLine(reader.shown(row));
    if (Status done = put(text, out); !done.ok()) return done.error();
  }
  if (Status status = reader.status(); !status.ok()) return status.error();
  std::string rest = isFirst ? head(nullptr) : "";
  if (const std::string note = reader.leftOut(); !note.empty()) rest += "\n" + markdownCell(note);
  if (Status done = put(rest, out); !done.ok()) return done.error();
  return reader.count();
}

// The columns and texts of one block that a line has room for.
TableFit fitBlock(const BlockReader& reader, const TextRows& block, const std::vector<std::string>& names,
                  size_t most) {
  std::vector<FitColumn> columns;
  for (size_t i = 0; i < names.size(); ++i) {
    FitColumn& column = columns.emplace_back();
    column.name = names[i];
    column.header = column.width = width(reader.headers().texts[i]);
    column.isText = block.isText[i];
    column.isShown = block.isShown[i];
    for (const auto& row : block.cells) column.width = std::max(column.width, width(row[i]));
  }
  TableFit fit = fitTable(columns, most);
  if (most == SIZE_MAX) fit.longest.assign(names.size(), SIZE_MAX);  // later blocks may have longer texts
  return fit;
}

// A table whose lines have at most so many characters, and what that cost.
class TableWriter {
 public:
  TableWriter(Statement& rows, const std::vector<ReportColumn>& columns, size_t most)
      : m_reader(rows, columns), m_names(columnNames(rows)), m_most(columns.empty() ? SIZE_MAX : most) {}

  Result<int64_t> write(std::FILE* out) {
    while (const TextRows* block = m_reader.next()) {
      if (m_fit.isShown.empty()) {
        m_fit = fitBlock(m_reader, *block, m_names, m_most);
        for (size_t i = 0; i < m_names.size(); ++i)
          m_isWrapped.push_back(isWrapped({m_names[i], 0, 0, block->isText[i], true}));
      }
      if (Status done = put(textOf(*block), out); !done.ok()) return done.error();
      m_emptyNote = m_reader.leftOut();
      noteDropped(*block);
    }
    if (Status status = m_reader.status(); !status.ok()) return status.error();
    if (Status done = put(m_reader.count() == 0 ? "no rows\n" : m_emptyNote + costs(), out); !done.ok())
      return done.error();
    return m_reader.count();
  }

 private:
  [[nodiscard]] std::vector<std::string> chosen(const std::vector<std::string>& cells, bool isCut) {
    std::vector<std::string> result;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!m_fit.isShown[i]) continue;
      const bool isLong = isCut && width(cells[i]) > m_fit.longest[i] && m_isText[i] && !m_isWrapped[i];
      m_hasCut |= isLong;
      result.push_back(!isLong         ? cells[i]
                       : isSentence(i) ? begun(cells[i], m_fit.longest[i])
                                       : shortened(cells[i], m_fit.longest[i]));
    }
    return result;
  }
  // What a sentence says first says most.
  [[nodiscard]] bool isSentence(size_t column) const {
    const std::string& name = m_names[column];
    return name == "reason" || name == "note" || name == "evidence" || name == "basis" || name == "matched";
  }
  [[nodiscard]] std::string textOf(const TextRows& block) {
    m_isText = block.isText;
    std::vector<TextTable::Align> aligns;
    for (size_t i = 0; i < block.isText.size(); ++i) {
      if (m_fit.isShown[i]) aligns.push_back(block.isText[i] ? TextTable::Align::Left : TextTable::Align::Right);
    }
    TextTable table(chosen(m_reader.headers().texts, false), aligns);
    for (const auto& row : block.cells) addRow(table, row);
    return table.text();
  }
  // And the lines that its sentences go on in.
  void addRow(TextTable& table, const std::vector<std::string>& row) {
    std::vector<std::vector<std::string>> lines{row};
    for (size_t i = 0; i < row.size(); ++i) {
      if (!m_isWrapped[i] || width(row[i]) <= m_fit.longest[i]) continue;
      const std::string text = wrapped(row[i], m_fit.longest[i]);
      size_t line = 0;
      for (size_t at = 0; at < text.size(); ++line) {
        const size_t end = std::min(text.find('\n', at), text.size());
        if (line == lines.size()) lines.emplace_back(row.size());
        lines[line][i] = text.substr(at, end - at);
        at = end + 1;
      }
    }
    for (const auto& line : lines) table.add(chosen(line, true));
  }
  void noteDropped(const TextRows& block) {
    if (!m_dropped.empty()) return;
    for (size_t i = 0; i < m_names.size(); ++i) {
      if (block.isShown[i] && !m_fit.isShown[i])
        m_dropped += (m_dropped.empty() ? "" : ", ") + m_reader.headers().texts[i];
    }
  }
  [[nodiscard]] std::string costs() const {
    if (m_dropped.empty() && !m_hasCut) return {};
    return fmt::format("to fit {} columns, {}{}{}: --wide or --format csv has all\n", m_most,
                       m_hasCut ? "texts were cut" : "", m_hasCut && !m_dropped.empty() ? " and " : "",
                       m_dropped.empty() ? "" : "left out: " + m_dropped);
  }

  BlockReader m_reader;
  std::vector<std::string> m_names;
  size_t m_most;
  TableFit m_fit;  // that of the first block
  std::vector<bool> m_isText, m_isWrapped;
  bool m_hasCut = false;
  std::string m_dropped, m_emptyNote;
};

}  // namespace

std::string jsonText(std::string_view text) { return nlohmann::json(repaired(text)).dump(); }
std::string markdownText(std::string_view text) { return markdownCell(escaped(text)); }

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

Result<int64_t> writeRows(Statement& rows, Format format, const std::vector<ReportColumn>& columns, std::FILE* out,
                          size_t width) {
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
    return TableWriter(rows, columns, width).write(out);
  };
  auto written = write();
  if (written.ok() && std::fflush(out) != 0) return writeError();
  return written;
}

}  // namespace plumb::cli
