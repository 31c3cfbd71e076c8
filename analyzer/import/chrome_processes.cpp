// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_processes.h"

#include <algorithm>
#include <utility>

#include "analyzer/import/importer.h"
#include "analyzer/import/json.h"

namespace plumb::import {
namespace {

constexpr size_t kMostProcesses = 4096;

// A name that someone chose ("worker_3") looks like a host's and a pid's; the events know the pid.
std::string hostInName(const std::string& name, const std::string& pid) {
  const auto worker = workerInName(name);
  return worker && worker->pid == pid && worker->host != "localhost" ? worker->host : std::string();
}

}  // namespace

ChromeProcesses::ChromeProcesses(TraceFile& file, bool isTorch) : m_file(file), m_isTorch(isTorch) {
  m_processes.push_back({std::make_unique<ChromeRows>(file, isTorch, 0), {}, {}, {}, {}});
}

bool ChromeProcesses::declare(std::string_view json) {
  constexpr int64_t kMostRanks = int64_t{1} << 24;
  if (eventCount() > 0 || areSeveral()) return false;
  struct Declared {
    std::vector<std::string> pids;  // the program's first
    One one;
  };
  std::vector<Declared> found;
  bool isValid = readArray(json, [&](const JsonValue& element) {
    Declared& process = found.emplace_back();
    (void)readObject(element.text, [&](std::string_view key, const JsonValue& value) {
      const auto number = value.toInteger();
      if (key == "pid" && number) process.pids.insert(process.pids.begin(), std::string(value.text));
      if (key == "own_pid") process.one.ownPid = number;
      if (key == "rank" && number && *number >= 0 && *number < kMostRanks) process.one.rank = number;
      if (key == "world_size" && number && *number > 0 && *number < kMostRanks) process.one.worldSize = number;
      if (key == "deviceProperties") process.one.deviceProperties = value.text;
      if (key != "device_pids" || value.kind != JsonKind::Array) return;
      (void)readArray(value.text, [&](const JsonValue& pid) { process.pids.emplace_back(pid.text); });
    });
  });
  isValid = isValid && !found.empty() && found.size() <= kMostProcesses &&
            std::ranges::none_of(found, [](const Declared& process) { return process.pids.empty(); });
  if (!isValid) return false;
  m_processes.clear();
  for (Declared& process : found) {
    process.one.rows = std::make_unique<ChromeRows>(m_file, true, m_processes.size());
    process.one.rows->setHostPid(process.pids.front());
    process.one.rows->setExport(m_export);
    for (std::string& pid : process.pids) m_byPid.emplace(std::move(pid), m_processes.size());
    m_processes.push_back(std::move(process.one));
  }
  return true;
}

bool ChromeProcesses::declareExport(std::string_view json) {
  if (eventCount() > 0) return false;
  m_export = ChromeExportFacts::read(json);
  for (const One& one : m_processes) one.rows->setExport(m_export);
  return true;
}

const ChromePrograms* ChromeProcesses::joined() const noexcept {
  return m_byPid.empty() && m_programs.pids().size() + m_programs.mixedPids().size() > 1 ? &m_programs : nullptr;
}

size_t ChromeProcesses::indexOf(const ChromeEvent& event) {
  if (!m_byPid.empty()) {
    if (!areSeveral()) return 0;
    m_pid.assign(event.pid);
    const auto known = m_byPid.find(m_pid);
    return known != m_byPid.end() ? known->second : 0;
  }
  if (!m_isTorch) return 0;
  const size_t index = m_programs.indexOf(event);
  if (index == m_processes.size()) {
    m_processes.push_back({std::make_unique<ChromeRows>(m_file, true, index), {}, {}, {}, {}});
    m_processes.back().rows->takeNames(*m_processes.front().rows);
  }
  return index;
}

void ChromeProcesses::take(const ChromeEvent& event, uint64_t offset) {
  const size_t index = indexOf(event);
  ChromeRows& rows = *m_processes[index].rows;
  if (m_originNs) rows.setOrigin(*m_originNs);
  rows.take(event, offset);
  if (!m_originNs && rows.hasOrigin()) m_originNs = rows.originNs();
}

Status ChromeProcesses::finish(const RunFacts& facts) {
  for (One& one : m_processes) {
    if (one.rows->eventCount() == 0) continue;
    RunFacts mine = facts;
    if (areSeveral()) {
      mine.rank = one.rank;
      mine.worldSize = one.worldSize;
      mine.host.clear();  // which of them ran there is not said
    } else {
      if (!mine.rank) mine.rank = one.rank;
      if (mine.host.empty()) mine.host = hostInName(facts.source, one.rows->hostPid());
    }
    mine.ownPid = one.ownPid;
    if (!one.deviceProperties.empty()) mine.deviceProperties = one.deviceProperties;
    if (Status done = one.rows->finish(mine); !done.ok()) return done;
  }
  return Unit{};
}

void ChromeProcesses::writeTally(TraceFile& file, const std::string& source) const {
  for (const One& one : m_processes) {
    const std::vector<int64_t> ids = one.rows->processes();
    one.rows->tally().write(file, ids.empty() ? std::nullopt : std::optional(ids.front()), source);
  }
}

uint64_t ChromeProcesses::eventCount() const {
  uint64_t count = 0;
  for (const One& one : m_processes) count += one.rows->eventCount();
  return count;
}

uint64_t ChromeProcesses::damaged() const {
  uint64_t count = 0;
  for (const One& one : m_processes) count += one.rows->tally().of(Reason::DamagedEvent);
  return count;
}

uint64_t ChromeProcesses::notStored() const {
  uint64_t count = 0;
  for (const One& one : m_processes) count += one.rows->tally().notStored();
  return count;
}

std::vector<int64_t> ChromeProcesses::processes() const {
  std::vector<int64_t> ids;
  for (const One& one : m_processes) {
    const std::vector<int64_t> mine = one.rows->processes();
    ids.insert(ids.end(), mine.begin(), mine.end());
  }
  return ids;
}

std::vector<int64_t> ChromeProcesses::ranks() const {
  std::vector<int64_t> ranks;
  for (const One& one : m_processes) {
    if (one.rank && one.rows->eventCount() > 0) ranks.push_back(*one.rank);
  }
  return ranks;
}

std::optional<int64_t> ChromeProcesses::worldSize() const {
  std::optional<int64_t> size;
  for (const One& one : m_processes) size = std::max(size, one.worldSize);
  return size;
}

int64_t ChromeProcesses::firstNs() const {
  int64_t first = originNs();
  for (const One& one : m_processes) {
    if (one.rows->eventCount() > 0) first = std::min(first, one.rows->firstNs());
  }
  return first;
}

}  // namespace plumb::import
