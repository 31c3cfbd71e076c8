// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/unit/analyzer/testing.h"

namespace plumb::cli {
namespace {

using test::TraceFile;
using test::valueOf;

std::string written(const std::string& sql, Format format, const std::vector<ReportColumn>& columns = {}) {
  const TraceFile file;
  test::TraceBuilder(file.path()).finish();
  Trace trace = valueOf(Trace::open(file.path()));
  auto rows = valueOf(trace.query(sql));
  std::FILE* out = std::tmpfile();
  const auto status = writeRows(rows, format, columns, out);
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

}  // namespace
}  // namespace plumb::cli
