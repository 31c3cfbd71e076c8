// SPDX-License-Identifier: Apache-2.0
// plumb export, plumb merge, plumb pack, plumb index
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/last_words.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/text.h"
#include "analyzer/cli/version.h"
#include "analyzer/export/chrome.h"
#include "analyzer/export/folded.h"
#include "analyzer/export/html/report_page.h"
#include "analyzer/export/merge.h"
#include "analyzer/export/nsys.h"
#include "analyzer/export/output_file.h"
#include "analyzer/export/pack.h"
#include "analyzer/export/views.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/frame_index.h"
#include "analyzer/trace/staging.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

// What is said beside an output that goes to standard output goes elsewhere.
template <class... Parts>
void remark(const ExportArguments& arguments, fmt::format_string<Parts...> format, Parts&&... parts) {
  const std::string text = fmt::format(format, std::forward<Parts>(parts)...);
  if (arguments.output == "-") return tell(text);
  fmt::print("{}", text);
}

int exportToChrome(Trace& trace, const ExportArguments& arguments) {
  exports::ChromeOptions options;
  options.output = arguments.output;
  options.isFolder =
      arguments.output != "-" && !arguments.output.ends_with(".json") && !arguments.output.ends_with(".json.gz");
  options.replace = arguments.force;
  bool writeFailed = false;
  options.writeFailed = &writeFailed;
  auto written = exports::exportChrome(trace, options);
  if (!written.ok()) return complain(written.error().message, writeFailed ? kFailed : kBadInput);
  for (const std::string& file : written.value().files) {
    if (arguments.output != "-") fmt::print("{}\n", escaped(file));
  }
  const bool holdsSeveral = !options.isFolder && trace.processes().size() > 1;
  remark(arguments, "{} events in {} file{}: open them in Perfetto (ui.perfetto.dev) or chrome://tracing{}\n",
         formatCount(static_cast<int64_t>(written.value().events)), written.value().files.size(),
         written.value().files.size() == 1 ? "" : "s",
         holdsSeveral ? "; HolisticTraceAnalysis and TraceLens want a file per rank: name a folder" : "");
  const std::string leftOut = exports::leftOutText(written.value().leftOut);
  if (!leftOut.empty()) remark(arguments, "{}\n", leftOut);
  return kDone;
}

int exportToFolded(Trace& trace, const ExportArguments& arguments) {
  auto out = exports::OutputFile::create(arguments.output, arguments.force);
  if (!out.ok()) return complain(out.error().message, kBadInput);
  const auto weight = arguments.weight == "host" ? exports::FoldedWeight::Host : exports::FoldedWeight::Gpu;
  auto lines = exports::exportFolded(trace, weight, out.value());
  if (!lines.ok()) return complain(lines.error().message, kFailed);
  if (const Status done = out.value().finish(); !done.ok()) return complain(done.error().message, kFailed);
  remark(arguments, "{}: {} stack{} in ns of {} time\n", escaped(arguments.output), lines.value().lines,
         lines.value().lines == 1 ? "" : "s", arguments.weight);
  const std::string leftOut = exports::leftOutText(lines.value());
  if (!leftOut.empty()) remark(arguments, "{}\n", leftOut);
  return kDone;
}

int exportToNsys(Trace& trace, const ExportArguments& arguments) {
  bool writeFailed = false;
  const auto written = exports::exportNsys(trace, arguments.output, arguments.force, &writeFailed);
  if (!written.ok()) return complain(written.error().message, writeFailed ? kFailed : kBadInput);
  fmt::print("{}: {} tables, {} rows, named as in Nsight Systems' SQLite export\n", escaped(arguments.output),
             written.value().tables, formatCount(written.value().rows));
  const std::string leftOut = exports::leftOutText(written.value().leftOut);
  if (!leftOut.empty()) fmt::print("{}\n", leftOut);
  return kDone;
}

int exportToHtml(Trace& trace, const ExportArguments& arguments) {
  auto reports = findReports(arguments.reportFolders);
  if (!reports.ok()) return complain(reports.error().message, kBadInput);
  if (const Status added = registerSqlSurface(trace, reports.value()); !added.ok())
    return complain(added.error().message, kFailed);
  auto out = exports::OutputFile::create(arguments.output, arguments.force);
  if (!out.ok()) return complain(out.error().message, kBadInput);
  const exports::PageOptions options{{}, kVersion, arguments.reportFolders, arguments.ruleFolders};
  if (const Status written = exports::exportReportPage(trace, options, out.value()); !written.ok())
    return complain(written.error().message, kFailed);
  if (const Status done = out.value().finish(); !done.ok()) return complain(done.error().message, kFailed);
  remark(arguments, "{}: one page, nothing else is needed to read it\n", escaped(arguments.output));
  return kDone;
}

// The number of rows; of a table without any there is no file, of a view its header.
Result<int64_t> writeCsv(Trace& trace, const exports::ExportedTable& table, const std::string& path) {
  if (!table.isView) {
    auto first = trace.query(fmt::format("SELECT 1 FROM {} LIMIT 1", table.from));
    if (!first.ok()) return first.error();
    if (!first.value().next()) return int64_t{0};
  }
  auto rows = trace.query("SELECT * FROM " + table.from);
  if (!rows.ok()) return rows.error();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wbe"), std::fclose);
  if (!file) return Error{fmt::format("Cannot write {}: {}.", path, std::strerror(errno))};
  const auto written = writeRows(rows.value(), Format::Csv, {}, file.get());
  if (!written.ok()) return written.error();
  if (std::fflush(file.get()) != 0) return Error{fmt::format("Cannot write {}: {}.", path, std::strerror(errno))};
  return written;
}

int exportToCsv(Trace& trace, const ExportArguments& arguments) {
  auto tables = exports::exportedTables();
  if (!tables.ok()) return complain(tables.error().message, kFailed);
  const auto others = exports::foreignTablesText(trace);
  if (!others.ok()) return complain(others.error().message, kBadInput);
  std::vector<std::string> names;
  for (const exports::ExportedTable& table : tables.value()) names.push_back(table.name + ".csv");
  auto folder = exports::OutputFolder::create(arguments.output, names, arguments.force);
  if (!folder.ok()) return complain(folder.error().message, kBadInput);
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return complain(snapshot.status().error().message, kBadInput);
  std::string said, empty;
  for (size_t i = 0; i < names.size(); ++i) {
    const exports::ExportedTable& table = tables.value()[i];
    const auto written = writeCsv(trace, table, folder.value().place(names[i]));
    if (!written.ok()) return complain(written.error().message, kFailed);
    if (table.isView || written.value() > 0) {
      said += fmt::format("{}: {} rows\n", escaped((fs::path(arguments.output) / names[i]).string()), written.value());
    } else {
      empty += (empty.empty() ? "" : ", ") + table.name;
    }
  }
  if (const Status done = folder.value().finish(); !done.ok()) return complain(done.error().message, kFailed);
  fmt::print("{}", said);
  if (!empty.empty()) fmt::print("Without rows, and so without files: {}.\n", empty);
  if (!others.value().empty()) fmt::print("{}\n", escaped(others.value()));
  return kDone;
}

}  // namespace

int runExport(const ExportArguments& arguments) {
  const bool isStream = arguments.format == "chrome" || arguments.format == "folded" || arguments.format == "html";
  if (arguments.output == "-" && !isStream) {
    return complain(fmt::format("--format {} writes a {}, which standard output is not: name it with -o.",
                                arguments.format, arguments.format == "nsys" ? "database" : "folder"),
                    kBadInput);
  }
  if (const Status other = checkNotRead(arguments.output, {arguments.file}); !other.ok()) {
    return complain(other.error().message, kBadInput);
  }
  if (arguments.format == "parquet") {
    std::vector<std::string> forwarded = {arguments.file, arguments.output};
    if (arguments.force) forwarded.emplace_back("--force");
    if (!hasSibling("plumb-parquet")) {
      return complain(
          "This build has no Parquet export, because Apache Arrow was not there when it was configured: `./run build` "
          "fetches it, or use --format csv.",
          kFailed);
    }
    return becomeSibling("plumb-parquet", forwarded);
  }
  removeStagingsWhenInterrupted();
  auto opened = Trace::open(arguments.file);
  if (!opened.ok()) return complain(opened.error().message, kBadInput);
  Trace& trace = opened.value();
  if (arguments.format == "chrome") return exportToChrome(trace, arguments);
  if (arguments.format == "csv") return exportToCsv(trace, arguments);
  if (arguments.format == "html") return exportToHtml(trace, arguments);
  if (arguments.format == "nsys") return exportToNsys(trace, arguments);
  return exportToFolded(trace, arguments);
}

int runMerge(const MergeArguments& arguments) {
  if (arguments.files.size() < 2) return complain("Name two or more trace files to merge.", kBadInput);
  removeStagingsWhenInterrupted();
  bool writeFailed = false;
  auto merged = exports::mergeTraces({arguments.files, arguments.output, kVersion, &writeFailed, arguments.force});
  if (!merged.ok()) return complain(merged.error().message, writeFailed ? kFailed : kBadInput);
  for (const std::string& warning : merged.value().warnings) (void)complain(warning, kDone);
  fmt::print("{}: {} rows of {} files\n", escaped(arguments.output),
             formatCount(static_cast<int64_t>(merged.value().rows)), arguments.files.size());
  return kDone;
}

int runPack(const PackArguments& arguments) {
  removeStagingsWhenInterrupted();
  ShareLine line;
  exports::PackProgress progress;
  if (line.isTerminal()) {
    progress = [&](const std::string& what, uint64_t done, uint64_t size) { line.show(what, done, size); };
  }
  bool writeFailed = false;
  auto packed = exports::packTrace(arguments.file, arguments.output, arguments.force, progress, &writeFailed);
  line.clear();
  if (!packed.ok()) return complain(packed.error().message, writeFailed ? kFailed : kBadInput);
  const exports::PackResult& result = packed.value();
  for (const std::string& warning : result.warnings) (void)complain(warning, kDone);
  fmt::print("{}: {:.1f} MB, of {:.1f} MB\n", escaped(arguments.output), static_cast<double>(result.bytesAfter) / 1e6,
             static_cast<double>(result.bytesBefore) / 1e6);
  return result.isWhole ? kDone : kFilesLeftOut;
}

int runIndex(const std::string& file) {
  if (startsAsZstd(file)) {
    return complain(
        fmt::format("{} is compressed, so it can only be read: unpack it with `plumb pack {} -o NAME.sqlite`, then "
                    "index that.",
                    file, file),
        kBadInput);
  }
  return becomeSibling("plumb-recorder", {"--finish", file});
}

}  // namespace plumb::cli
