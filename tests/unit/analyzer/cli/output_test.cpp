// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyzer/cli/table_fit.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::cli {
namespace {

using test::TraceFile;
using test::valueOf;

std::string written(const std::string& sql, Format format, const std::vector<ReportColumn>& columns = {},
                    size_t width = SIZE_MAX) {
  const TraceFile file;
  test::TraceBuilder(file.path()).finish();
  Trace trace = valueOf(Trace::open(file.path()));
  auto rows = valueOf(trace.query(sql));
  std::FILE* out = std::tmpfile();
  const auto status = writeRows(rows, format, columns, out, width);
  EXPECT_TRUE(status.ok()) << test::errorOf(status);
  std::string text(static_cast<size_t>(std::ftell(out)), '\0');
  std::rewind(out);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), out), text.size());
  std::fclose(out);
  return text;
}

TEST(Csv, IsRfc4180) {
  EXPECT_EQ(written("SELECT 1 AS a, 'x,y' AS b, 'say \"hi\"' AS c, char(10) AS d, NULL AS e", Format::Csv),
            "a,b,c,d,e\r\n1,\"x,y\",\"say \"\"hi\"\"\",\"\n\",\r\n");
}

TEST(Csv, NumbersReadBackAsTheyWere) {
  EXPECT_EQ(written("SELECT 9223372036854775807 AS a, 0.1 AS b, 1e300 AS c", Format::Csv),
            "a,b,c\r\n9223372036854775807,0.1,1e+300\r\n");
}

TEST(Json, IsValidWithExactIntegers) {
  const auto json = nlohmann::json::parse(
      written("SELECT 9223372036854775807 AS a, 1e999 AS b, 'x' || char(27, 34, 92) AS c, NULL AS d, x'00ff' AS e"
              " UNION ALL SELECT -1, 0.5, cast(x'ff41' AS TEXT), 2, 3",
              Format::Json));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["a"].get<int64_t>(), INT64_MAX);
  EXPECT_TRUE(json[0]["b"].is_null());
  EXPECT_EQ(json[0]["c"], "x\x1b\"\\");
  EXPECT_TRUE(json[0]["d"].is_null());
  EXPECT_EQ(json[0]["e"], "00ff");
  EXPECT_EQ(json[1]["c"],
            "\xEF\xBF\xBD"
            "A");
}

TEST(Json, NoRowsAreAnEmptyArray) {
  EXPECT_TRUE(nlohmann::json::parse(written("SELECT 1 AS a WHERE 0", Format::Json)).empty());
}

TEST(Json, ColumnsOfOneNameAreKeptApart) {
  const auto json = nlohmann::json::parse(written("SELECT 1 AS a, 2 AS a", Format::Json));
  EXPECT_EQ(json[0]["a"], 1);
  EXPECT_EQ(json[0]["a_2"], 2);
}

TEST(Table, ShowsUnitsAndHarmlessText) {
  EXPECT_EQ(written("SELECT 'k' || char(27) AS name, 1500 AS total_ns, 12.34 AS share_pct, NULL AS stddev_ns",
                    Format::Table, {{"total_ns", "ns", ""}, {"share_pct", "%", ""}, {"stddev_ns", "ns", ""}}),
            "name    total   share\n"
            "k\\x1b  1.5 µs  12.3 %\n"
            "left out, because empty in every row: stddev\n");
  EXPECT_EQ(written("SELECT 1 AS a WHERE 0", Format::Table), "no rows\n");
}

TEST(Markdown, IsATableWhoseTextIsNoMarkup) {
  EXPECT_EQ(written("SELECT 'a|b <T>*' AS name, 1500 AS total_ns UNION ALL SELECT 'x_y _z_', NULL", Format::Markdown,
                    {{"total_ns", "ns", ""}}),
            "| name | total |\n|---|---:|\n| a\\|b \\<T\\>\\* | 1.5 µs |\n| x_y \\_z\\_ | - |\n");
  EXPECT_EQ(written("SELECT 1 AS a WHERE 0", Format::Markdown), "| a |\n|---:|\n");
}

const std::vector<ReportColumn> kReportColumns = {{"name", "", ""}, {"total_ns", "ns", ""}, {"detail", "", ""}};

TEST(Tables, OfReportsLeaveOutWhatIsEmptyInEveryRowAndSaySo) {
  const std::string sql = "SELECT 'a' AS name, 1000 AS total_ns, NULL AS detail UNION ALL SELECT 'b', NULL, ''";
  EXPECT_EQ(written(sql, Format::Table, kReportColumns),
            "name   total\na     1.0 \xC2\xB5s\nb          -\nleft out, because empty in every row: detail\n");
  EXPECT_EQ(written(sql, Format::Markdown, kReportColumns),
            "| name | total |\n|---|---:|\n| a | 1.0 \xC2\xB5s |\n| b | - |\n\nleft out, because empty in every row: "
            "detail\n");
  EXPECT_EQ(written(sql, Format::Csv, kReportColumns), "name,total_ns,detail\r\na,1000,\r\nb,,\r\n");
  // What is asked for by name in a query stays.
  EXPECT_EQ(written("SELECT NULL AS a, 1 AS b", Format::Table), "a  b\n-  1\n");
}

TEST(Tables, KeepAColumnThatOnlyALateRowFills) {
  const std::string many =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)"
      " SELECT 'x' || i AS name, NULL AS total_ns, CASE WHEN i = 11999 THEN 'late' END AS detail FROM n";
  const std::string text = written(many, Format::Table, kReportColumns);
  EXPECT_EQ(text.substr(0, text.find('\n')), "name   detail");
  EXPECT_NE(text.find("x11999  late"), std::string::npos);
  EXPECT_EQ(std::ranges::count(text, '\n'), 12000 + 3 + 1);  // heads of three blocks, and the note
}

TEST(Tables, CutVeryLongNames) {
  const std::string text =
      written("SELECT printf('%.*c', 500, 'k') AS name, 1 AS total_ns", Format::Table, kReportColumns);
  EXPECT_LT(text.find('\n', text.find("kk")) - text.find("kk"), 200u);
  EXPECT_NE(text.find("--format csv has them whole"), std::string::npos);
}

std::vector<FitColumn> kernelColumns() {
  return {{"rank", 4, 4, false},   {"pid", 3, 7, false},       {"name", 4, 200, true},    {"total_ns", 5, 9, false},
          {"avg_ns", 3, 9, false}, {"stddev_ns", 6, 9, false}, {"share_pct", 5, 7, false}};
}
size_t lengthOf(const std::vector<FitColumn>& columns, const TableFit& fit) {
  size_t length = 0;
  for (size_t i = 0; i < columns.size(); ++i) length += fit.isShown[i] ? fit.longest[i] + 2 : 0;
  return length - 2;
}

TEST(TableFit, CutsTextsBeforeItLeavesColumnsOut) {
  const auto columns = kernelColumns();
  const TableFit wide = fitTable(columns, 300);
  EXPECT_EQ(wide.longest[2], 200u);
  const TableFit narrow = fitTable(columns, 120);
  EXPECT_EQ(std::ranges::count(narrow.isShown, true), 7);
  EXPECT_EQ(lengthOf(columns, narrow), 120u);
}

TEST(TableFit, LeavesOutALongReasonBesideAState) {
  std::vector<FitColumn> columns = {{"state", 5, 12, true}, {"process_group", 13, 40, true}, {"reason", 6, 90, true}};
  EXPECT_EQ(fitTable(columns, 200).isShown, (std::vector<bool>{true, true, true}));
  const TableFit narrow = fitTable(columns, 100);
  EXPECT_EQ(narrow.isShown, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(narrow.longest[1], 40u) << "what is left is not cut";
  columns[0].name = "verdict";
  EXPECT_EQ(fitTable(columns, 100).isShown, (std::vector<bool>{true, true, true}));
}

TEST(TableFit, KeepsAReasonThatStandsAloneBesideAState) {
  const std::vector<FitColumn> columns = {
      {"state", 5, 12, true}, {"process_group", 13, 0, true, false}, {"reason", 6, 190, true}};
  const TableFit fit = fitTable(columns, 100);
  EXPECT_EQ(fit.isShown, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(lengthOf(columns, fit), 100u);
}

TEST(Tables, WrapMessages) {
  const std::vector<ReportColumn> columns = {{"check_name", "", ""}, {"message", "", ""}};
  const std::string sql =
      "SELECT 'clocks' AS check_name, 'The clocks of the two hosts are apart by a millisecond.' AS message";
  EXPECT_EQ(written(sql, Format::Table, columns, 56),
            "check_name  message\n"
            "clocks      The clocks of the two hosts are apart by a\n"
            "            millisecond.\n");
}

TEST(Tables, ShowWholeNumbersWholeAndNoProcessZero) {
  const std::vector<ReportColumn> columns = {{"pid", "", ""}, {"value", "", ""}};
  EXPECT_EQ(written("SELECT 0 AS pid, 1584752.0 AS value UNION ALL SELECT 7, 0.5", Format::Table, columns),
            "pid    value\n"
            "  -  1584752\n"
            "  7      0.5\n");
}

TEST(TableFit, LeavesOutWhatSaysLeast) {
  const auto columns = kernelColumns();
  const TableFit fit = fitTable(columns, 65);
  EXPECT_EQ(fit.isShown, (std::vector<bool>{true, false, true, true, true, false, true}))
      << "spread, and pid beside rank";
  EXPECT_LE(lengthOf(columns, fit), 65u);
  const TableFit least = fitTable(columns, 40);
  EXPECT_EQ(least.isShown, (std::vector<bool>{true, false, true, true, false, false, true}));
  EXPECT_LE(lengthOf(columns, least), 40u);
}

TEST(Table, SaysWhatItLeftOutToFit) {
  const std::vector<ReportColumn> columns = {{"name", "", ""}, {"total_ns", "ns", ""}, {"stddev_ns", "ns", ""}};
  const std::string sql = "SELECT printf('%.60c', 'x') AS name, 1500 AS total_ns, 1 AS stddev_ns";
  const std::string text = written(sql, Format::Table, columns, 34);
  EXPECT_EQ(text.find("stddev"), text.rfind("stddev")) << text;
  EXPECT_NE(text.find("to fit 34 columns, texts were cut and left out: stddev: --wide or --format csv has all\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(written(sql, Format::Table, columns).find("to fit"), std::string::npos);
}

// What anybody's trace may hold comes out of every format as a value, never as a part of the format.
TEST(Formats, HoldHostileNames) {
  const std::string sql =
      "SELECT 'a|b' || char(10) || '| --- |' AS name, 1 AS n UNION ALL SELECT cast(x'ff22' AS TEXT) || ',' || "
      "char(13), 1e999"
      " UNION ALL SELECT '<script>alert(1)</script>`' || char(27) || '[2J', -1e999 UNION ALL SELECT '', 0.0 / 1";
  const auto json = nlohmann::json::parse(written(sql, Format::Json));
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[0]["name"], "a|b\n| --- |");
  EXPECT_EQ(json[1]["name"], "\xEF\xBF\xBD\",\r");
  EXPECT_TRUE(json[1]["n"].is_null() && json[2]["n"].is_null());
  EXPECT_EQ(written(sql, Format::Csv),
            "name,n\r\n\"a|b\n| --- "
            "|\",1\r\n\"\xEF\xBF\xBD\"\",\r\",inf\r\n<script>alert(1)</script>`\x1b[2J,-inf\r\n,0\r\n");
  const std::string markdown = written(sql, Format::Markdown, {{"name", "", ""}});
  EXPECT_EQ(std::ranges::count(markdown, '\n'), 6) << "a head, its line, a line for each row\n" << markdown;
  EXPECT_NE(markdown.find("| a\\|b\\\\n\\| --- \\| | 1 |\n"), std::string::npos) << markdown;
  EXPECT_NE(markdown.find("\\<script\\>alert(1)\\</script\\>\\`\\\\x1b\\[2J"), std::string::npos) << markdown;
  const std::string table = written(sql, Format::Table, {{"name", "", ""}});
  EXPECT_EQ(std::ranges::count(table, '\n'), 5) << table;
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace plumb::cli
