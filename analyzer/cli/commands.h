// SPDX-License-Identifier: Apache-2.0
// The commands of `plumb`. Each returns the program's exit code (kExitCodes).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/output.h"
#include "analyzer/reports/reports.h"

namespace plumb::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kFilesLeftOut = 3;  // done, but for what is named on standard error
// For every help; README.md has the same lines.
inline constexpr const char* kExitCodes =
    "Exit codes:\n"
    "  0  done; of check: every rule holds\n"
    "  1  it failed (the disk is full …); of check: a rule does not hold\n"
    "  2  wrong usage: a file that cannot be used, an output that is there already\n"
    "  3  done without what was left out: by import files that are no traces, by pack what is damaged\n"
    "record ends as the program does that it ran, with 2 when that cannot be run.";

[[nodiscard]] int summarize(const std::string& file);

struct ReportArguments {
  std::string name;
  std::string file;
  std::vector<std::string> peaks;  // "network=450GB/s": see analyses/peaks.h
  std::string definition;          // see reports/definitions.h; "": ours
  Format format = Format::Table;
  bool isWide = false;  // a table keeps all its columns
  ReportRequest request;
  std::vector<std::string> folders;  // users' reports
};
[[nodiscard]] int runReport(const ReportArguments& arguments);
[[nodiscard]] int listReports(const std::vector<std::string>& folders);
// The columns of a report with their units, and what limits it.
[[nodiscard]] int describeReport(const std::string& name, const std::vector<std::string>& folders);

struct QueryArguments {
  std::string file;
  std::string sql;                      // one statement; or
  std::string script;                   // a file of statements, "-" for standard input
  std::vector<std::string> parameters;  // "name=value"
  bool explain = false;
  Format format = Format::Table;
  std::vector<std::string> folders;  // users' reports
};
[[nodiscard]] int runQuery(const QueryArguments& arguments);

struct ImportArguments {
  std::vector<std::string> files;
  std::vector<long long> ranks;
  std::string output;
  bool force = false, sizes = false;
};
[[nodiscard]] int runImport(const ImportArguments& arguments);

struct ExportArguments {
  std::string file, output;
  std::string format;          // "chrome" "csv" "parquet" "nsys" "folded"
  std::string weight = "gpu";  // folded: "gpu" or "host"
  bool force = false;
  std::vector<std::string> reportFolders, ruleFolders;  // html: users' reports and rules
};
[[nodiscard]] int runExport(const ExportArguments& arguments);

struct AdviseArguments {
  std::string file;
  Filter filter;
  std::optional<Format> format;                         // none: as text
  std::vector<std::string> reportFolders, ruleFolders;  // users' reports and rules
  std::optional<double> timeout;                        // s, of one of the user's rules
};
[[nodiscard]] int runAdvise(const AdviseArguments& arguments);

struct DiffArguments {
  std::string a, b;
  Format format = Format::Table;
  bool all = false;  // rows without a difference, too, and all of each kind
};
[[nodiscard]] int runDiff(const DiffArguments& arguments);

// 0: every rule holds; 1: one does not; 2: one could not be run.
struct CheckArguments {
  std::string file, rules, baseline;
  std::vector<std::string> reportFolders;
  std::optional<double> timeout;  // s, of one rule
};
[[nodiscard]] int runCheck(const CheckArguments& arguments);

struct MergeArguments {
  std::vector<std::string> files;
  std::string output;
  bool force = false;
};
[[nodiscard]] int runMerge(const MergeArguments& arguments);

struct PackArguments {
  std::string file, output;
  bool force = false;
};
// kFilesLeftOut: unpacked, but a part of the file is damaged.
[[nodiscard]] int runPack(const PackArguments& arguments);
// Finishes a file whose recorder was killed.
[[nodiscard]] int runIndex(const std::string& file);

[[nodiscard]] bool hasSibling(const char* program);
// Becomes the program of that name beside this one; returns only when it cannot.
[[nodiscard]] int becomeSibling(const char* program, const std::vector<std::string>& arguments);

// One line on standard error; returns `code`.
int complain(const std::string& message, int code);
// The exit code, or that of a disk that is full.
[[nodiscard]] int finishOutput(int code);

}  // namespace plumb::cli
