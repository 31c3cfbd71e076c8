// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/import.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/text.h"
#include "analyzer/cli/version.h"

namespace plumb::cli {
namespace {

// For the signal handler, which may use nothing else.
std::array<char, 4096> temporaryPath;

void removeAndDie(int signal) {
  ::unlink(temporaryPath.data());
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void removeWhenInterrupted(const std::string& path) {
  if (path.size() >= temporaryPath.size()) return;
  std::memcpy(temporaryPath.data(), path.c_str(), path.size() + 1);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, removeAndDie);
}

void showProgress(const std::string& file, uint64_t bytes, uint64_t size) {
  const double share = size == 0 ? 1.0 : static_cast<double>(bytes) / static_cast<double>(size);
  fmt::print(stderr, "\r{}: {:3.0f} %\x1b[K", escaped(file), 100 * share);
  std::fflush(stderr);
}

}  // namespace

int runImport(const ImportArguments& arguments) {
  import::ImportOptions options;
  options.files = arguments.files;
  options.ranks.assign(arguments.ranks.begin(), arguments.ranks.end());
  options.output = arguments.output;
  options.version = kVersion;
  options.writesTo = removeWhenInterrupted;
  const bool isTerminal = ::isatty(STDERR_FILENO) != 0;
  if (isTerminal) options.progress = showProgress;
  const auto imported = import::importTraces(options);
  if (isTerminal) fmt::print(stderr, "\r\x1b[K");
  if (!imported.ok()) return complain(imported.error().message, kBadInput);
  const import::ImportResult& result = imported.value();
  for (const std::string& warning : result.warnings) (void)complain(warning, kDone);
  fmt::print("{}: {} events of {} file{}, {} stored, {} counted by reason in its diagnostics, {} of these damaged\n",
             escaped(arguments.output), result.events, arguments.files.size(), arguments.files.size() == 1 ? "" : "s",
             result.events - result.notStored, result.notStored, result.damaged);
  return kDone;
}

}  // namespace plumb::cli
