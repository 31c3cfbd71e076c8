// SPDX-License-Identifier: Apache-2.0
// The reference page of the trace format (REFERENCE.md), made from the texts of tables.sql and views.sql. After a
// change of those: `plumb_schema_reference > collector/schema/REFERENCE.md`; a test compares.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace plumb::schema {

struct ColumnDescription {
  std::string name;
  std::string type;     // INTEGER, REAL, TEXT; empty: any, or of a view
  std::string rules;    // the rest of its definition: NOT NULL, PRIMARY KEY, REFERENCES …
  std::string meaning;  // the comment behind it
};

struct TableDescription {
  std::string name;
  std::string description;
  std::vector<ColumnDescription> columns;
};

[[nodiscard]] std::vector<TableDescription> describeTables(std::string_view tablesSql);
[[nodiscard]] std::vector<TableDescription> describeViews(std::string_view viewsSql);

// Markdown. Of the views that stand for another program's tables only the names are listed.
[[nodiscard]] std::string referencePage(std::string_view tablesSql, std::string_view viewsSql,
                                        std::string_view foreignViewsSql);

}  // namespace plumb::schema
