// SPDX-License-Identifier: Apache-2.0
// The schema's texts are SQL that works, and its reference page says what they say.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <fstream>
#include <map>
#include <sstream>

#include "collector/schema/reference.h"
#include "collector/schema/schema.h"

namespace plumb::schema {
namespace {

class SchemaTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(sqlite3_open(":memory:", &m_database), SQLITE_OK);
    execute(tablesSql());
    execute(viewsSql());
  }
  void TearDown() override { sqlite3_close(m_database); }

  void execute(std::string_view sql) {
    ASSERT_EQ(sqlite3_exec(m_database, std::string(sql).c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(m_database);
  }
  std::vector<std::string> column(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(m_database, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(m_database);
    std::vector<std::string> values;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      values.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)));
    }
    EXPECT_EQ(sqlite3_errcode(m_database), SQLITE_DONE) << sqlite3_errmsg(m_database);
    sqlite3_finalize(statement);
    return values;
  }
  std::vector<std::string> columnsOf(const std::string& table) {
    return column("SELECT name FROM pragma_table_info('" + table + "') ORDER BY cid");
  }

  sqlite3* m_database = nullptr;
};

std::vector<std::string> namesOf(const TableDescription& table) {
  std::vector<std::string> names;
  for (const ColumnDescription& column : table.columns) names.push_back(column.name);
  return names;
}

TEST_F(SchemaTest, EveryViewCanBeReadWithAndWithoutIndexes) {
  const auto views = column("SELECT name FROM sqlite_schema WHERE type = 'view'");
  EXPECT_THAT(views, testing::IsSupersetOf({"kernels", "copies", "memory_sets", "api_calls", "ranges", "collectives",
                                            "allocations", "synchronizations", "streams", "processes", "devices",
                                            "steps", "diagnostics"}));
  for (int pass = 0; pass < 2; ++pass) {
    for (const std::string& view : views) {
      // Those that give numbers their names, and those about the file itself, have rows in an empty file too.
      const bool isFilled = view.starts_with("ENUM_") || view == "META_DATA_EXPORT" || view == "ANALYSIS_DETAILS";
      EXPECT_EQ(column("SELECT * FROM " + view).empty(), !isFilled) << view;
    }
    execute(indexesSql());
  }
}

TEST_F(SchemaTest, IndexesMayBeBuiltTwice) {
  execute(indexesSql());
  execute(indexesSql());
}

TEST_F(SchemaTest, ViewsOfEventsHaveTheCommonColumns) {
  for (const char* view : {"kernels", "copies", "memory_sets", "api_calls", "ranges", "collectives", "allocations",
                           "synchronizations", "steps", "processes"}) {
    EXPECT_THAT(columnsOf(view), testing::IsSupersetOf({"id", "rank", "process_id", "start_ns", "duration_ns", "name"}))
        << view;
  }
}

TEST_F(SchemaTest, EveryReferenceNamesAColumnThatExists) {
  for (const std::string& table : column("SELECT name FROM sqlite_schema WHERE type = 'table'")) {
    EXPECT_THAT(column("SELECT \"table\" FROM pragma_foreign_key_list('" + table +
                       "') f WHERE NOT EXISTS "
                       "(SELECT 1 FROM pragma_table_info(f.\"table\") c WHERE c.name = f.\"to\")"),
                testing::IsEmpty())
        << table;
  }
}

TEST_F(SchemaTest, TheReferenceHasEveryTableViewAndColumn) {
  std::vector<std::string> tables;
  for (const TableDescription& table : describeTables(tablesSql())) {
    tables.push_back(table.name);
    EXPECT_EQ(namesOf(table), columnsOf(table.name)) << table.name;
  }
  EXPECT_EQ(tables, column("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid"));
  std::vector<std::string> views;
  for (const TableDescription& view : describeViews(ownViewsSql())) {
    views.push_back(view.name);
    EXPECT_EQ(namesOf(view), columnsOf(view.name)) << view.name;
  }
  EXPECT_EQ(views, column("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY rowid LIMIT " +
                          std::to_string(views.size())));
}

TEST_F(SchemaTest, ViewsUnderNsightsNamesHaveItsColumns) {
  const std::map<std::string, std::vector<std::string>> wanted = {
      {"CUPTI_ACTIVITY_KIND_KERNEL",
       {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "shortName"}},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "eventClass", "globalTid", "correlationId", "nameId"}},
      {"CUPTI_ACTIVITY_KIND_MEMCPY", {"start", "end", "bytes", "copyKind", "srcKind", "dstKind", "globalPid"}},
      {"NVTX_EVENTS", {"start", "end", "eventType", "text", "textId", "globalTid", "domainId", "category"}},
      {"StringIds", {"id", "value"}},
      {"PROCESSES", {"globalPid", "pid", "name"}},
      {"TARGET_INFO_GPU", {"id", "name", "smCount", "totalMemory", "memoryBandwidth", "uuid", "cuDevice"}},
      {"META_DATA_EXPORT", {"name", "value"}}};
  for (const auto& [view, columns] : wanted) EXPECT_THAT(columnsOf(view), testing::IsSupersetOf(columns)) << view;
}

TEST(Reference, IsCurrent) {
  std::ifstream file(PLUMB_SOURCE_DIR "/collector/schema/REFERENCE.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), referencePage(tablesSql(), ownViewsSql(), nsysViewsSql()))
      << "run: plumb_schema_reference > collector/schema/REFERENCE.md";
}

TEST(Reference, TakesAColumnsMeaningFromTheCommentBehindIt) {
  const auto tables = describeTables(
      "-- A thing.\n"
      "CREATE TABLE thing (\n"
      "  id INTEGER PRIMARY KEY,\n"
      "  x INTEGER NOT NULL, y REAL,  -- two, of which this is the last\n"
      "  value NOT NULL,\n"
      "  UNIQUE (x, y)\n"
      ");\n"
      "-- More of it.\n"
      "\n"
      "CREATE TABLE other (\n"
      "  a TEXT\n"
      ");\n");
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].description, "A thing. `UNIQUE (x, y)` More of it.");
  EXPECT_THAT(namesOf(tables[0]), testing::ElementsAre("id", "x", "y", "value"));
  EXPECT_EQ(tables[0].columns[2].meaning, "two, of which this is the last");
  EXPECT_EQ(tables[0].columns[3].type, "");
  EXPECT_EQ(tables[0].columns[3].rules, "NOT NULL");
  EXPECT_EQ(tables[1].description, "");
}

}  // namespace
}  // namespace plumb::schema
