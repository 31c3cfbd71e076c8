// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/empty_reason.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>

#include "analyzer/analyses/contents.h"
#include "analyzer/cli/text.h"

namespace plumb::cli {
namespace {

// What a report is made of, told by words of its SQL: the first kind that has a word in it.
struct Source {
  std::array<const char*, 5> words;
  const char* table;
  const char* what;
  const char* lane;  // the plugin that records it
};
constexpr Source kSources[] = {
    {{"collective_timing", nullptr, nullptr, nullptr, nullptr},
     "collective_timing",
     "collective with a time of NCCL's own measurement",
     ""},
    {{"collective_benchmark", nullptr, nullptr, nullptr, nullptr}, "collective_benchmark", "result of nccl-tests", ""},
    {{"os_call", nullptr, nullptr, nullptr, nullptr}, "os_call", "call of the operating system's library", ""},
    {{"analysis_memory_inference", nullptr, nullptr, nullptr, nullptr}, "memory_region", "declared memory", "nvtx"},
    {{"analysis_hand_calculation", nullptr, nullptr, nullptr, nullptr}, "allocation", "allocation", "memory"},
    {{"analysis_breakdown", "analysis_graphs", nullptr, nullptr, nullptr}, "kernel", "kernel", "cupti"},
    {{"analysis_ops", "tracelens_gemm", nullptr, nullptr, nullptr}, "operator", "operator", ""},
    {{"analysis_api", nullptr, nullptr, nullptr, nullptr}, "api_call", "API call", "cupti"},
    {{"hta_memory_bandwidth", nullptr, nullptr, nullptr, nullptr}, "memory_copy", "copy", "cupti"},
    {{"collective", "communicator", "straggler", "communication_matrix", nullptr}, "collective", "collective", "nccl"},
    {{"allocation", "analysis_memory", "report_memory", "fragmentation", "hand_calculation"},
     "allocation",
     "allocation",
     "memory"},
    {{"memory_copy", "memory_set", "copies", nullptr, nullptr}, "memory_copy", "copy", "cupti"},
    {{"synchronization", nullptr, nullptr, nullptr, nullptr}, "synchronization", "synchronization", "cupti"},
    {{"counter", nullptr, nullptr, nullptr, nullptr}, "counter_sample", "counter", "cupti"},
    {{"operator", nullptr, nullptr, nullptr, nullptr}, "operator", "operator", ""},
    {{"api_call", nullptr, nullptr, nullptr, nullptr}, "api_call", "API call", "cupti"},
    {{" range ", " ranges ", "analysis_ranges", "analysis_step", "report_steps"}, "range", "range", "nvtx"},
    {{"kernel", "analysis_", "hta_", "tracelens_", nullptr}, "kernel", "kernel", "cupti"},
};

const Source* sourceOf(const std::string& sql) {
  const auto found = std::ranges::find_if(kSources, [&](const Source& source) {
    return std::ranges::any_of(source.words,
                               [&](const char* word) { return word && sql.find(word) != std::string::npos; });
  });
  return found == std::end(kSources) ? nullptr : &*found;
}

// The report's file without its comments.
std::string statementOf(const Report& report) {
  std::string sql;
  size_t at = 0;
  while (at < report.sql.size()) {
    const size_t end = std::min(report.sql.find('\n', at), report.sql.size());
    const std::string_view line = std::string_view(report.sql).substr(at, end - at);
    if (!line.starts_with("--")) sql += std::string(line) + "\n";
    at = end + 1;
  }
  return sql;
}

std::optional<std::string> firstText(Trace& trace, const char* sql, std::string_view argument) {
  auto rows = trace.query(sql);
  if (!rows.ok()) return std::nullopt;
  if (rows.value().parameterCount() > 0) rows.value().bind(1, argument);
  if (!rows.value().next()) return std::nullopt;
  return std::string(rows.value().text(0));
}

bool hasRows(Trace& trace, const char* table) {
  return firstText(trace, fmt::format("SELECT 1 FROM main.{} LIMIT 1", table).c_str(), "").has_value();
}

// Without a full stop at the end.
std::string shortenedEnd(std::string text) {
  while (text.ends_with('.')) text.pop_back();
  return text;
}

// A collective whose kernels are there under a library's name only.
std::string whyOnlyKernels(Trace& trace) {
  const auto name = firstText(
      trace, "SELECT text FROM main.string WHERE text LIKE 'ncclKernel%' OR text LIKE 'ncclDevKernel%' LIMIT 1", "");
  if (!name) return "";
  return fmt::format(
      "No collective was recorded: there are kernels such as {}, but nothing tells their sizes and ranks. They count "
      "as communication (report breakdown, overlap, kernels); newer versions of torch.profiler and plumb record write "
      "what is missing.",
      escaped(name->substr(0, name->find('('))));
}

// Why the lane has recorded nothing; "" when it could have.
std::string whyNothing(Trace& trace, const Source& source) {
  const auto state = firstText(trace, "SELECT state FROM main.plugin WHERE name = ?1 ORDER BY state", source.lane);
  const auto said = firstText(trace,
                              "SELECT message FROM main.diagnostic WHERE lane = ?1 AND severity <> 'info'"
                              " ORDER BY severity, id LIMIT 1",
                              source.lane);
  if (said) return fmt::format(": {}", shortenedEnd(escaped(*said)));
  if (state) return *state == "off" ? fmt::format(", because the lane {} was off", source.lane) : "";
  return firstText(trace, "SELECT 1 FROM main.plugin", "").has_value() && *source.lane
             ? fmt::format(", because the lane {} did not run", source.lane)
             : "";
}

// As after an export as a Chrome trace, which has no place for the states of communicators.
bool hasUnjudgedCollectives(Trace& trace) {
  return !hasRows(trace, "communicator_state") &&
         firstText(trace, "SELECT 1 FROM collective_state WHERE state <> 'completed' LIMIT 1", "").has_value();
}

}  // namespace

std::string whyNoCollective(Trace& trace) {
  const auto largest = firstText(
      trace, "SELECT max(n_ranks) FROM main.communicator WHERE NOT EXISTS (SELECT 1 FROM main.collective)", "");
  if (largest != "1") return "";
  return "No collective was recorded, because every communicator has one rank: NCCL launches no kernels for it, it "
         "only "
         "copies what has to move (see plumb report copies).";
}

std::string whyNoAllocation(Trace& trace) {
  const auto contents = findContents(trace);
  return contents.ok() ? contents.value().whyNoAllocation : "";
}

std::string whyEmpty(Trace& trace, const Report& report, const ReportRequest& request) {
  const Source* source = sourceOf(statementOf(report));
  if (source && !hasRows(trace, source->table)) {
    if (std::string_view(source->table) == "collective") {
      if (std::string reason = whyNoCollective(trace); !reason.empty()) return reason;
      if (std::string reason = whyOnlyKernels(trace); !reason.empty()) return reason;
    }
    if (std::string_view(source->table) == "allocation") {
      if (const std::string reason = whyNoAllocation(trace); !reason.empty())
        return fmt::format("Cannot say, because {}.", reason);
    }
    return fmt::format("No {} was recorded{}.", source->what, whyNothing(trace, *source));
  }
  const Filter& filter = request.filter;
  if (source && report.sql.find("FROM analysis_stuck") != std::string::npos && !filter.rank && filter.isWholeTime()) {
    return hasUnjudgedCollectives(trace)
               ? "Cannot say: collectives had not completed when their states were written, but how far each rank's "
                 "communicators had come is not in the file."
               : "No rank waited in a collective for one that never came.";
  }
  return filter.rank || !filter.isWholeTime() ? "The filters leave none." : report.whenEmpty;
}

}  // namespace plumb::cli
