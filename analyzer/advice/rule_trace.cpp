// SPDX-License-Identifier: Apache-2.0
#include "analyzer/advice/rule_trace.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/shared_loads.h"

namespace plumb {
namespace {

std::map<ProcessId, int64_t> standInsFor(const std::vector<Process>& processes) {
  std::set<std::pair<std::optional<int64_t>, int64_t>> known;
  std::map<ProcessId, int64_t> pids;
  for (const Process& process : processes) {
    if (!known.emplace(process.rank, process.pid).second) pids.emplace(process.id, -process.id.value());
  }
  return pids;
}

// Where the reports of the user's own that `trace` has came from.
Result<std::vector<std::string>> reportFoldersOf(Trace& trace) {
  std::vector<std::string> folders;
  auto rows = trace.query("SELECT DISTINCT origin FROM plumb_reports WHERE origin <> 'built in'");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  while (row.next()) {
    std::string folder = std::filesystem::path(row.text(0)).parent_path().string();
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(std::move(folder));
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  return folders;
}

}  // namespace

Result<RuleTrace> RuleTrace::open(Trace& trace) {
  RuleTrace result(trace);
  result.m_pids = standInsFor(trace.processes());
  if (result.m_pids.empty()) return result;
  auto folders = reportFoldersOf(trace);
  if (!folders.ok()) return folders.error();
  auto reports = findReports(folders.value());
  if (!reports.ok()) return reports.error();
  auto own = Trace::open(trace.path());
  if (!own.ok()) return own.error();
  result.m_own = std::make_unique<Trace>(std::move(own).value());
  result.m_own->shareLoads(std::make_shared<SharedLoads>(result.m_pids));
  if (const Status added = registerSqlSurface(*result.m_own, reports.value()); !added.ok()) return added.error();
  return result;
}

int64_t RuleTrace::pidInRules(const Process& process) const {
  const auto standIn = m_pids.find(process.id);
  return standIn == m_pids.end() ? process.pid : standIn->second;
}

std::optional<ProcessId> RuleTrace::twin(std::optional<int64_t> rank, int64_t pidInRules) const {
  const std::vector<Process>& processes = m_given->processes();
  const int64_t pid = pidInFile(pidInRules);
  const auto isSame = [&](const Process& one) { return one.rank == rank && one.pid == pid; };
  if (m_pids.empty() || std::ranges::count_if(processes, isSame) < 2) return std::nullopt;
  const auto found = std::ranges::find_if(
      processes, [&](const Process& one) { return isSame(one) && this->pidInRules(one) == pidInRules; });
  return found == processes.end() ? std::nullopt : std::optional(found->id);
}

int64_t RuleTrace::pidInFile(int64_t pidInRules) const {
  const auto standIn = std::ranges::find(m_pids, pidInRules, [](const auto& one) { return one.second; });
  if (standIn == m_pids.end()) return pidInRules;
  const Process* process = m_given->process(standIn->first);
  return process ? process->pid : pidInRules;
}

}  // namespace plumb
