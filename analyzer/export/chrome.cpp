// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/chrome.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "analyzer/export/chrome_contents.h"
#include "analyzer/export/chrome_writer.h"
#include "analyzer/export/output_file.h"

namespace plumb::exports {
namespace {

std::string fileNameOf(const Process& process) {
  return process.rank ? fmt::format("rank{}.json.gz", *process.rank)
                      : fmt::format("pid{}-{}.json.gz", process.pid, process.id.value());
}

bool isDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Whether fileNameOf() may have given a file this name.
bool isRankFile(std::string_view name) {
  constexpr std::string_view kEnd = ".json.gz";
  if (!name.ends_with(kEnd)) return false;
  name.remove_suffix(kEnd.size());
  if (name.starts_with("rank")) return isDigits(name.substr(4));
  const size_t dash = name.find('-');
  return name.starts_with("pid") && dash != std::string_view::npos && isDigits(name.substr(3, dash - 3)) &&
         isDigits(name.substr(dash + 1));
}

// Files of ranks that another export left in the folder: with them the folder would be of two runs.
std::vector<std::string> rankFilesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::string name = at->path().filename().string();
    if (isRankFile(name)) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<ExportResult> exportChrome(Trace& trace, const ChromeOptions& options) {
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return snapshot.status().error();
  auto leftOut = leftOutOf(trace, chromeContents());
  if (!leftOut.ok()) return leftOut.error();
  if (trace.processes().empty()) {
    const std::string text = leftOutText(leftOut.value());
    return Error{fmt::format("{} has no process, so a Chrome trace of it would be empty.{}{}", trace.path(),
                             text.empty() ? "" : " ", text)};
  }
  ExportResult result;
  result.leftOut = std::move(leftOut).value();
  const auto finished = [&](const Status& done) {
    if (!done.ok() && options.writeFailed) *options.writeFailed = true;
    return done;
  };
  const auto writeFile = [&](const std::string& path, const Process* only) -> Status {
    auto out = OutputFile::create(path, options.replace);
    if (!out.ok()) return out.error();
    ChromeWriter writer(trace, out.value(), only);
    if (Status done = writer.write(); !done.ok()) return done;
    result.events += writer.events();
    return finished(out.value().finish());
  };
  if (!options.isFolder) {
    const bool isOne = trace.processes().size() == 1;
    const Status done = writeFile(options.output, isOne ? &trace.processes().front() : nullptr);
    if (!done.ok()) return done.error();
    result.files.push_back(options.output);
    return result;
  }
  std::vector<std::string> names;
  for (const Process& process : trace.processes()) {
    std::string name = fileNameOf(process);
    if (std::ranges::find(names, name) != names.end()) {  // a rank that is there twice
      name = fmt::format("pid{}-{}.json.gz", process.pid, process.id.value());
    }
    names.push_back(std::move(name));
  }
  std::vector<std::string> taken = names;
  std::ranges::copy(rankFilesIn(options.output), std::back_inserter(taken));
  auto folder = OutputFolder::create(options.output, std::move(taken), options.replace);
  if (!folder.ok()) return folder.error();
  size_t number = 0;
  for (const Process& process : trace.processes()) {
    const std::string& name = names[number++];
    if (const Status done = writeFile(folder.value().place(name), &process); !done.ok()) return done.error();
    result.files.push_back((std::filesystem::path(options.output) / name).string());
  }
  if (const Status done = finished(folder.value().finish()); !done.ok()) return done.error();
  return result;
}

}  // namespace plumb::exports
