// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/import.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/text.h"
#include "analyzer/cli/version.h"
#include "analyzer/trace/staging.h"

namespace plumb::cli {
namespace {

double peakMegabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void showProgress(const std::string& file, uint64_t bytes, uint64_t size) {
  const double share = size == 0 ? 1.0 : static_cast<double>(bytes) / static_cast<double>(size);
  fmt::print(stderr, "\r{}: {:3.0f} %, peak memory {:.0f} MB\x1b[K", escaped(file), 100 * share, peakMegabytes());
  std::fflush(stderr);
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
  removeStagingsWhenInterrupted();
  const bool isTerminal = ::isatty(STDERR_FILENO) != 0;
  if (isTerminal) options.progress = showProgress;
  const auto imported = import::importTraces(options);
  if (isTerminal) fmt::print(stderr, "\r\x1b[K");
  if (!imported.ok()) return complain(imported.error().message, kBadInput);
  const import::ImportResult& result = imported.value();
  for (const std::string& warning : result.warnings) (void)complain(warning, kDone);
  const uint64_t files = arguments.files.size() - result.filesLeftOut;
  fmt::print("{}: {} events of {} file{}, {} stored, {} counted by reason in its diagnostics, {} of these damaged\n",
             escaped(arguments.output), result.events, files, files == 1 ? "" : "s", result.events - result.notStored,
             result.notStored, result.damaged);
  std::error_code ignored;
  const auto bytes = static_cast<double>(std::filesystem::file_size(arguments.output, ignored));
  if (!ignored && result.events > 0) {
    fmt::print("{:.1f} MB, {:.1f} bytes per event; peak memory while importing {:.0f} MB\n", bytes / 1e6,
               bytes / static_cast<double>(result.events), peakMegabytes());
  }
  if (!result.sizes.empty()) printSizes(result);
  return result.filesLeftOut > 0 ? kFilesLeftOut : kDone;
}

}  // namespace plumb::cli
