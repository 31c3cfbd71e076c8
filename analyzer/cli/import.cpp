// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/text.h"
#include "analyzer/cli/version.h"
#include "analyzer/trace/staging.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {
namespace {

// What a snapshot of memory is mostly looked at for.
void sayOutOfMemory(const std::string& file) {
  auto trace = Trace::open(file);
  if (!trace.ok()) return;
  auto diagnostics = trace.value().diagnostics();
  if (!diagnostics.ok()) return;
  for (const Diagnostic& one : diagnostics.value()) {
    if (one.code == "out_of_memory") fmt::print("{}\n", escaped(one.message));
  }
}

void printSizes(const import::ImportResult& result) {
  fmt::print("{:<32} {:>6} {:>12} {:>14} {:>14} {:>15}\n", "table or index", "kind", "rows", "bytes", "bytes_per_row",
             "bytes_per_event");
  for (const import::TableSize& size : result.sizes) {
    fmt::print("{:<32} {:>6} {:>12} {:>14} {:>14.1f} {:>15.2f}\n", size.name, size.isIndex ? "index" : "table",
               size.rows, size.bytes, static_cast<double>(size.bytes) / static_cast<double>(size.rows),
               static_cast<double>(size.bytes) / static_cast<double>(std::max<uint64_t>(result.events, 1)));
  }
}

}  // namespace

int runImport(const ImportArguments& arguments) {
  import::ImportOptions options;
  options.files = arguments.files;
  options.ranks.assign(arguments.ranks.begin(), arguments.ranks.end());
  options.output = arguments.output;
  options.version = kVersion;
  options.sizes = arguments.sizes;
  bool writeFailed = false;
  options.writeFailed = &writeFailed;
  removeStagingsWhenInterrupted();
  ShareLine line;
  if (line.isTerminal()) {
    options.progress = [&](const std::string& file, uint64_t done, uint64_t size) { line.show(file, done, size); };
  }
  const auto imported = import::importTraces(options);
  line.clear();
  if (!imported.ok()) return complain(imported.error().message, writeFailed ? kFailed : kBadInput);
  const import::ImportResult& result = imported.value();
  for (const std::string& warning : result.warnings) (void)complain(warning, kDone);
  const uint64_t files = arguments.files.size() - result.filesLeftOut;
  fmt::print("{}: {} events of {} file{}, {} stored{}, {} damaged\n", escaped(arguments.output), result.events, files,
             files == 1 ? "" : "s", result.events - result.notStored,
             result.notStored == 0 ? std::string()
                                   : fmt::format(", {} not (why: plumb query {} \"SELECT * FROM diagnostics\")",
                                                 result.notStored, escaped(arguments.output)),
             result.damaged);
  std::error_code ignored;
  const auto bytes = static_cast<double>(std::filesystem::file_size(arguments.output, ignored));
  if (!ignored && result.events > 0) {
    fmt::print("{:.1f} MB, {:.1f} bytes per event; peak memory while importing {:.0f} MB\n", bytes / 1e6,
               bytes / static_cast<double>(result.events), peakMegabytes());
  }
  if (!result.sizes.empty()) printSizes(result);
  sayOutOfMemory(arguments.output);
  return result.filesLeftOut > 0 ? kFilesLeftOut : kDone;
}

}  // namespace plumb::cli
