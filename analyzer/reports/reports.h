// SPDX-License-Identifier: Apache-2.0
// Reports: one .sql file per question. Its first comment lines (after an SPDX line) are the title, the question, a line
// for each column, `-- name (unit): what it is`, when it can group by several things `-- by: name, grid`, when a filter
// does not mean the steps and ranges of the trace `-- own: step, range`, and for filters that have no meaning for it
// `-- no: step, range: why not`, and for what it says without rows `-- empty: sentence`. The SQL is one statement that
// reads; it may use the parameters below and the tables of analyses/analysis_tables.h. The program's own are built in;
// a file of the same name in a user's folder takes their place.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/database.h"
#include "analyzer/trace/filter.h"
#include "collector/schema/result.h"

namespace plumb {

struct ReportColumn {
  std::string name;
  std::string unit;  // "" for none
  std::string description;
};

// What limits a report. A report takes those whose parameter its SQL uses; one that nobody sets is NULL, but for :by,
// which is then the first of the report's values.
struct ReportParameter {
  const char* sql;       // ":rank"
  const char* option;    // of the command line: "--rank"
  const char* argument;  // of the table function report_NAME
};
enum class Limit : size_t { Rank, Step, Range, From, To, By };
inline constexpr std::array<ReportParameter, 6> kReportParameters = {{{":rank", "--rank", "only_rank"},
                                                                      {":step", "--step", "only_step"},
                                                                      {":range", "--range", "only_range"},
                                                                      {":from_ns", "--from", "from_ns"},
                                                                      {":to_ns", "--to", "to_ns"},
                                                                      {":by", "--by", "group_by"}}};

struct Report {
  std::string name;
  std::string title;
  std::string question;
  std::vector<ReportColumn> columns;
  std::array<bool, kReportParameters.size()> takes{};  // by Limit
  std::vector<std::string> by;                         // the values of :by, the default first; empty without :by
  bool hasOwnStep = false, hasOwnRange = false;        // what they name need not be in the trace
  std::array<std::string, kReportParameters.size()> refusals;  // by Limit: why it is not taken; "": not said
  std::string whenEmpty;        // why it can be without rows although what it is made of was recorded; "": not said
  std::string sql;              // the whole file
  std::string origin;           // path, or "built in"
  std::string problem;          // why it cannot be used, for the user; else empty
  const char* noun = "report";  // what messages call it: a rule of the advice is read likewise

  // "--rank, --step and --by", "none".
  [[nodiscard]] std::string optionList() const;
  // A line for each reason of refusals, with the options that it is about: "no --step and --range: why not".
  [[nodiscard]] std::vector<std::string> refusalLines() const;
  // What of the filter the trace must have: all but what has a meaning of the report's own.
  [[nodiscard]] Filter lookedUp(Filter filter) const;
};

// What somebody asks a report for.
struct ReportRequest {
  Filter filter;
  std::optional<std::string> by;
};

[[nodiscard]] Result<Report> parseReport(std::string_view name, std::string_view text, std::string_view origin,
                                         const char* noun = "report");

// An error that says what the report takes, and why not what it refuses, when it lacks a parameter for something that
// is set.
[[nodiscard]] Status checkRequest(const Report& report, const ReportRequest& request);

// The report's statement, its parameters bound. What the report does not take is an error that says what it takes, and
// so is a value of `by` that it does not know.
[[nodiscard]] Result<Statement> prepareReport(Database& database, const Report& report, const ReportRequest& request);

// Where users keep files of theirs, a later folder's winning: plumb/NAME in XDG_CONFIG_HOME or ~/.config, then those
// that the variable names, separated by ':'.
[[nodiscard]] std::vector<std::string> userFolders(const std::string& name, const char* variable);
[[nodiscard]] std::vector<std::string> userReportFolders();  // "reports", PLUMB_REPORTS
// A sentence for each of the folders that the variable names and that cannot be read.
[[nodiscard]] std::vector<std::string> unreadableFolders(const char* variable);

// By name. A folder that does not exist holds no reports; a file that is not a report has a `problem`.
[[nodiscard]] Result<std::vector<Report>> findReports(const std::vector<std::string>& userFolders);

}  // namespace plumb
