// SPDX-License-Identifier: Apache-2.0
// plumb-parquet TRACE FOLDER [--force]: every public view and table as a Parquet dataset,
// FOLDER/VIEW/rank=N/part-0.parquet or, where rows have no rank, FOLDER/VIEW/part-N.parquet. DuckDB, Spark, Dask and
// pandas read either as one table with a column rank. A program of its own, so that nothing else needs Apache Arrow;
// `plumb export --format parquet` starts it.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/export/output_file.h"
#include "analyzer/export/parquet/dataset.h"
#include "analyzer/export/views.h"
#include "analyzer/trace/staging.h"
#include "analyzer/trace/trace.h"

namespace plumb::exports {
namespace {

constexpr int kDone = 0, kFailed = 1, kBadInput = 2;

int complain(const std::string& message, int code) {
  const std::string line = fmt::format("plumb: {}\n", message);
  std::fwrite(line.data(), 1, line.size(), stderr);  // closed or full: nobody to tell
  return code;
}

int run(const std::vector<std::string>& arguments) {
  const bool force = arguments.size() == 3 && arguments[2] == "--force";
  if (arguments.size() != 2 && !force) return complain("usage: plumb-parquet TRACE FOLDER [--force]", kBadInput);
  auto opened = Trace::open(arguments[0]);
  if (!opened.ok()) return complain(opened.error().message, kBadInput);
  Trace& trace = opened.value();
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return complain(snapshot.status().error().message, kBadInput);
  removeStagingsWhenInterrupted();
  auto tables = exportedTables();
  if (!tables.ok()) return complain(tables.error().message, kFailed);
  auto others = foreignTablesText(trace);
  if (!others.ok()) return complain(others.error().message, kBadInput);
  std::vector<std::string> names;
  for (const ExportedTable& table : tables.value()) names.push_back(table.name);
  auto folder = OutputFolder::create(arguments[1], names, force);
  if (!folder.ok()) return complain(folder.error().message, kBadInput);
  std::string said, empty;
  for (const ExportedTable& table : tables.value()) {
    auto written = writeDataset(trace, table.from, folder.value().place(table.name));
    if (!written.ok()) return complain(written.error().message, kFailed);
    if (written.value().files > 0) {
      said += fmt::format("{}/{}: {} rows in {} file{}\n", arguments[1], table.name, written.value().rows,
                          written.value().files, written.value().files == 1 ? "" : "s");
    } else {
      empty += (empty.empty() ? "" : ", ") + table.name;
    }
  }
  if (const Status done = folder.value().finish(); !done.ok()) return complain(done.error().message, kFailed);
  fmt::print("{}", said);
  if (!empty.empty()) fmt::print("Without rows, and so without files: {}.\n", empty);
  if (!others.value().empty()) fmt::print("{}\n", others.value());
  return kDone;
}

}  // namespace
}  // namespace plumb::exports

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error of writing
  try {
    return plumb::exports::run({argv + 1, argv + argc});
  } catch (const std::exception& failure) {
    return plumb::exports::complain(failure.what(), plumb::exports::kFailed);
  }
}
