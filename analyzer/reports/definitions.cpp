// SPDX-License-Identifier: Apache-2.0
#include "analyzer/reports/definitions.h"

#include <fmt/format.h>

namespace plumb {
namespace {

struct Other {
  std::string_view definition, report, uses;
};
constexpr Other kOthers[] = {
    {"hta", "breakdown", "hta_breakdown"},
    {"hta", "overlap", "hta_overlap"},
    {"hta", "idle", "hta_idle"},
    {"hta", "kernel_types", "hta_kernel_types"},
    {"hta", "kernels", "hta_kernels"},
    {"hta", "launch", "hta_launch"},
    {"hta", "queue", "hta_queue"},
    {"hta", "copies", "hta_copies"},
    {"hta", "steps", "hta_steps"},
    {"hta", "critical_path", "hta_critical_path"},
    {"hta", "critical_path", "hta_critical_path_edges"},
    {"hta", "stragglers", "hta_stragglers"},
    {"tracelens", "breakdown", "tracelens_breakdown"},
    {"tracelens", "roofline", "tracelens_gemm"},
    {"tracelens", "kernels", "tracelens_kernels"},
};

}  // namespace

Result<std::string> reportByDefinition(std::string_view report, std::string_view definition) {
  if (definition.empty() || definition == "exact") return std::string(report);
  std::string reports;
  std::string_view last;
  for (const Other& other : kOthers) {
    if (other.definition != definition) continue;
    if (other.report == report || other.uses == report) return std::string(other.uses);
    if (other.report == last) continue;
    last = other.report;
    reports += fmt::format("{}{}", reports.empty() ? "" : ", ", other.report);
  }
  if (reports.empty()) {
    return Error{fmt::format("There is no definition {}; there are exact, hta and tracelens.", definition)};
  }
  return Error{fmt::format("The report {} has no definition {}; these have: {}.", report, definition, reports)};
}

}  // namespace plumb
