// SPDX-License-Identifier: Apache-2.0
// The head of the summary: what was recorded, and whose.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "analyzer/analyses/stuck_collectives.h"
#include "analyzer/cli/summary_page.h"
#include "analyzer/cli/text.h"
#include "analyzer/trace/device_text.h"

namespace plumb::cli {
namespace {

constexpr size_t kCommandWidth = 86;
constexpr size_t kMostRows = 8;  // more processes that differ in their numbers only are one row
constexpr auto kLeft = TextTable::Align::Left;
constexpr auto kRight = TextTable::Align::Right;

// Processes of one kind on one host.
struct Row {
  std::vector<int64_t> ranks, pids;
  std::string host, program, ended;
  std::map<std::string, std::set<int64_t>> devices;  // ordinals by name
};

std::string devicesText(const Row& row) {
  std::string text;
  for (const auto& [name, ordinals] : row.devices) {
    if (name.empty()) continue;
    text += (text.empty() ? "" : "; ") + rankList({ordinals.begin(), ordinals.end()}) + ": " + escaped(name);
  }
  text = shortened(text, 30);
  if (const auto nameless = row.devices.find(""); nameless != row.devices.end()) {
    const std::set<int64_t>& ordinals = nameless->second;
    text += text.empty() ? "" : "; ";
    text += ordinals.size() == 1 ? deviceText(*ordinals.begin(), "")
                                 : fmt::format("devices {} (their names are not in the file)",
                                               rankList({ordinals.begin(), ordinals.end()}));
  }
  return text.empty() ? "-" : text;
}

std::string pidsText(const Row& row) {
  if (row.pids.size() > 1) return fmt::format("{} processes", row.pids.size());
  return row.pids.front() == 0 ? "-" : fmt::format("{}", row.pids.front());
}

const char* endOf(const Process& process) {
  return process.ended == "exit" ? "exit" : process.ended == "lost" ? "killed (lost)" : "running or killed";
}

std::vector<Row> rowsOf(const Trace& trace) {
  std::vector<Row> rows;
  for (const Process& process : trace.processes()) {
    Row& row = rows.emplace_back();
    if (process.rank) row.ranks.push_back(*process.rank);
    row.pids.push_back(process.pid);
    row.host = process.host;
    row.program = process.program;
    row.ended = endOf(process);
    for (const Device& device : trace.devices()) {
      if (device.process == process.id) row.devices[device.name].insert(device.ordinal);
    }
  }
  return rows;
}

// One row for all that are alike but for rank, process id and the device's number.
std::vector<Row> folded(const std::vector<Row>& rows) {
  std::vector<Row> result;
  std::map<std::tuple<std::string, std::string, std::string, std::vector<std::string>, bool>, size_t> known;
  for (const Row& row : rows) {
    std::vector<std::string> names;
    for (const auto& [name, ordinals] : row.devices) names.push_back(name);
    const auto [place, isNew] =
        known.try_emplace({row.host, row.program, row.ended, names, row.ranks.empty()}, result.size());
    if (isNew) {
      result.push_back(row);
      continue;
    }
    Row& first = result[place->second];
    first.ranks.insert(first.ranks.end(), row.ranks.begin(), row.ranks.end());
    first.pids.insert(first.pids.end(), row.pids.begin(), row.pids.end());
    for (const auto& [name, ordinals] : row.devices) first.devices[name].insert(ordinals.begin(), ordinals.end());
  }
  for (Row& row : result) std::ranges::sort(row.ranks);
  return result;
}

// Takes out helpers, such as the git and the compilers that a program calls, and says which they were.
std::string takeHelpers(std::vector<Row>& rows) {
  const auto isHelper = [](const Row& row) { return row.ranks.empty() && row.devices.empty(); };
  if (std::ranges::all_of(rows, isHelper)) return "";
  std::map<std::string, size_t> programs;
  size_t count = 0;
  for (const Row& row : rows) {
    if (!isHelper(row)) continue;
    ++count;
    ++programs[row.program.starts_with("process ") ? "unnamed" : row.program];
  }
  if (count == 0) return "";
  std::erase_if(rows, isHelper);
  std::string text;
  for (const auto& [program, times] : programs) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", shortened(escaped(program), 30),
                        times > 1 ? fmt::format(" ({} times)", times) : "");
  }
  return fmt::format("Besides, {} process{} without GPU and rank: {}.", count, count == 1 ? "" : "es", text);
}

// What other programs' files were made of says nothing of how a process ended.
bool isImported(Trace& trace) {
  auto rows = trace.query("SELECT 1 FROM main.meta WHERE key = 'imported_from'");
  return rows.ok() && rows.value().next();
}

TextTable tableOf(const std::vector<Row>& rows, bool withEnd) {
  const bool withHost = std::ranges::any_of(rows, [](const Row& row) { return !row.host.empty(); });
  std::vector<std::string> headers = {"rank", "pid"};
  std::vector<TextTable::Align> aligns = {kRight, kRight};
  for (const auto& [isShown, header] :
       {std::pair(withHost, "host"), {true, "program"}, {true, "device"}, {withEnd, "ended"}}) {
    if (!isShown) continue;
    headers.emplace_back(header);
    aligns.push_back(kLeft);
  }
  TextTable table(headers, aligns);
  for (const Row& row : rows) {
    std::vector<std::string> cells = {row.ranks.empty() ? "-" : shortened(rankList(row.ranks), 16), pidsText(row)};
    if (withHost) cells.push_back(shortened(escaped(row.host), 14));
    cells.push_back(shortened(escaped(row.program), 24));
    cells.push_back(devicesText(row));
    if (withEnd) cells.push_back(row.ended);
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

void writeProcesses(Page& page, Trace& trace) {
  const TraceInfo& info = trace.info();
  fmt::print("{}\n", escaped(trace.path()));
  if (!info.command.empty()) page.line(fmt::format("command   {}", shortened(escaped(info.command), kCommandWidth)));
  if (!info.complete) {
    page.paragraph(
        "This file is not complete: it is still being recorded, or its recorder was killed. What follows is what it "
        "holds so far; `plumb index FILE` finishes a file whose recorder is gone.");
  }
  page.heading("Processes");
  if (trace.processes().empty()) return page.line("No process is recorded in this file.");
  std::vector<Row> rows = rowsOf(trace);
  const std::string helpers = takeHelpers(rows);
  if (rows.size() > kMostRows) rows = folded(rows);
  page.table(tableOf(rows, !isImported(trace)));
  if (!helpers.empty()) page.paragraph(helpers);
  std::set<int64_t> ranks;
  int64_t worldSize = 0;
  for (const Process& process : trace.processes()) {
    if (process.rank) ranks.insert(*process.rank);
    worldSize = std::max(worldSize, process.worldSize.value_or(0));
  }
  const auto recorded = static_cast<int64_t>(ranks.size());
  if (recorded > 0 && worldSize > recorded) {
    page.paragraph(
        fmt::format("Only {} of {} ranks {} in this file.", recorded, worldSize, recorded == 1 ? "is" : "are"));
  }
  if (std::ranges::any_of(trace.devices(), &Device::isSoftware)) {
    page.paragraph(
        "Software device: kernels ran on the CPU and durations are CPU time. They show how the program behaves, not "
        "how fast a GPU would be.");
  }
}

}  // namespace plumb::cli
