// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/text.h"
#include "analyzer/cli/version.h"
#include "analyzer/import/wording.h"
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

// What of a source is in no table, by the code of its diagnostic. Losses are what somebody would miss.
struct Unstored {
  std::string_view code, words;
  bool isLoss = false;
};
constexpr std::array<Unstored, 15> kUnstored = {{
    {"flow_event", "flow [arrow (the ids of its ends join them)|arrows (the ids of their ends join them)]"},
    {"metadata_event", "metadata [entry (its name is used)|entries (their names are used)]"},
    {"flow_one_end", "flow [arrow|arrows] with one end"},
    {"profiler_notice", "[notice|notices] of the profiler about itself"},
    {"table_not_stored", "[row|rows] of tables that hold no events"},
    {"inactive_block", "free [block (the reserved memory has it)|blocks (the reserved memory has them)]"},
    {"no_size", "[measurement|measurements] of 0 bytes"},
    {"status_without_group", "[state of a group|states of groups] without an entry"},
    {"duplicate_event", "[call|calls] that came twice"},
    {"other_phase", "[event of a kind|events of kinds] that there is no table for", true},
    {"no_value", "[counter|counters] without a number", true},
    {"end_without_begin", "range [end|ends] without a beginning", true},
    {"damaged_event", "damaged [event|events]", true},
    {"bad_duration", "[event|events] with an impossible duration", true},
    {"no_time", "[event|events] without a usable time", true},  // last: of memory histories it also counts stored ones
}};

// "; the other 12 are no events of their own: 10 flow arrows (…), 2 metadata entries (…)", and what is lost in a line
// of its own.
std::string unstoredText(const import::ImportResult& result, const std::string& output) {
  std::array<uint64_t, kUnstored.size()> counts{};
  auto trace = Trace::open(output);
  if (trace.ok()) {
    if (auto diagnostics = trace.value().diagnostics(); diagnostics.ok()) {
      for (const Diagnostic& one : diagnostics.value()) {
        const auto known = std::ranges::find(kUnstored, one.code, &Unstored::code);
        if (known == kUnstored.end() || one.lane != "import") continue;
        counts[static_cast<size_t>(known - kUnstored.begin())] +=
            static_cast<uint64_t>(std::max<int64_t>(one.count, 0));
      }
    }
  }
  std::string harmless, lost;
  uint64_t rest = result.notStored, harmlessCount = 0;
  for (size_t i = 0; i < kUnstored.size(); ++i) {
    const uint64_t count = std::min(counts[i], rest);  // a code may also count what is stored in part
    if (count == 0) continue;
    rest -= count;
    std::string& text = kUnstored[i].isLoss ? lost : harmless;
    if (!kUnstored[i].isLoss) harmlessCount += count;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, import::agreeing(kUnstored[i].words, count));
  }
  std::string& others = result.damaged > 0 ? lost : harmless;
  if (rest > 0 && result.damaged == 0) harmlessCount += rest;
  if (rest > 0) others += fmt::format("{}{} {}", others.empty() ? "" : ", ", rest, rest == 1 ? "other" : "others");
  std::string text;
  if (!harmless.empty())
    text += fmt::format("; not stored, because {} own: {}",
                        harmlessCount == 1 ? "it is no event of its" : "they are no events of their", harmless);
  if (!lost.empty()) {
    text += fmt::format("\nLost: {}. Where: plumb query {} \"SELECT * FROM diagnostics WHERE severity <> 'info'\"",
                        lost, escaped(output));
  }
  return text;
}

}  // namespace

int runImport(const ImportArguments& arguments) {
  import::ImportOptions options;
  options.files = arguments.files;
  options.ranks.assign(arguments.ranks.begin(), arguments.ranks.end());
  options.output = arguments.output;
  options.replace = arguments.force;
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
  fmt::print("{}: {} event{} of {} file{}, {} stored{}\n", escaped(arguments.output), result.events,
             result.events == 1 ? "" : "s", files, files == 1 ? "" : "s",
             result.notStored == 0 ? "all" : std::to_string(result.events - result.notStored),
             unstoredText(result, arguments.output));
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
