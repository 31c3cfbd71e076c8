// SPDX-License-Identifier: Apache-2.0
// Rows of a statement as a table for people, CSV (RFC 4180), JSON (an array of objects; integers are exact) or a table
// of GitHub's Markdown.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/reports/reports.h"
#include "analyzer/trace/database.h"

namespace plumb::cli {

enum class Format { Table, Csv, Json, Markdown };

// Writes all rows; returns how many there were. `columns` gives units by name, with which a table (of Markdown, too)
// shows "1.2 ms" instead of 1200000; CSV and JSON always have the plain numbers. They are written
// row by row; a table needs the widths and is laid out in blocks of rows. No row at all is "no rows" in a table.
// Of a report (with `columns`), a table and Markdown leave out the columns that are empty in every row and cut very
// long names; a table also cuts and leaves out what makes its lines longer than `width` (table_fit.h). They say so
// below.
[[nodiscard]] Result<int64_t> writeRows(Statement& rows, Format format, const std::vector<ReportColumn>& columns,
                                        std::FILE* out, size_t width = SIZE_MAX);

// A text as JSON has it, with its quotes; and as Markdown, harmless.
[[nodiscard]] std::string jsonText(std::string_view text);
[[nodiscard]] std::string markdownText(std::string_view text);

// A table of texts: columns as wide as they need, numbers to the right.
class TextTable {
 public:
  enum class Align { Left, Right };
  explicit TextTable(std::vector<std::string> headers, std::vector<Align> aligns)
      : m_headers(std::move(headers)), m_aligns(std::move(aligns)) {}
  void add(std::vector<std::string> row) { m_rows.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return m_rows.empty(); }
  // With an indent before each line; no blanks at the ends of lines.
  [[nodiscard]] std::string text(size_t indent = 0) const;

 private:
  std::vector<std::string> m_headers;
  std::vector<Align> m_aligns;
  std::vector<std::vector<std::string>> m_rows;
};

}  // namespace plumb::cli
