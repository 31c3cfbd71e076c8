// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/chrome_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "analyzer/export/chrome_names.h"
#include "analyzer/export/json_text.h"

namespace plumb::exports {

ChromeWriter::ChromeWriter(Trace& trace, OutputFile& out, const Process* only)
    : m_trace(trace),
      m_out(out),
      m_only(only),
      m_shiftNs(std::max<int64_t>(0, trace.info().sessionStartRealtimeNs) % 1000) {}

void ChromeWriter::flush() {
  m_out.write(m_block);
  m_block.clear();
}

Status ChromeWriter::each(const char* sql, const Row& row) {
  auto rows = m_trace.query(sql);
  if (!rows.ok()) return rows.error();
  rows.value().bind(1, m_process->id.value());
  while (rows.value().next()) row(rows.value());
  return rows.value().status();
}

const std::string& ChromeWriter::quoted(StringId id) {
  const auto known = m_quoted.find(id);
  if (known != m_quoted.end()) return known->second;
  return m_quoted.emplace(id, jsonText(m_trace.text(id))).first->second;
}

std::string ChromeWriter::at(int64_t ns) const { return micros(ns + m_shiftNs); }

// Processes of two hosts or containers may share a pid.
int64_t ChromeWriter::pidOf(const Process& process) const {
  const auto sharesPid = [&](const Process& other) { return other.id != process.id && other.pid == process.pid; };
  if (m_only || std::ranges::none_of(m_trace.processes(), sharesPid)) return process.pid;
  return static_cast<int64_t>(static_cast<uint64_t>(process.pid) + (static_cast<uint64_t>(process.id.value()) << 40));
}

int64_t ChromeWriter::devicePid(const Device& device) const {
  constexpr uint64_t kFirst = uint64_t{1} << 30;  // above every pid of Linux (2^22)
  return m_only ? device.ordinal : static_cast<int64_t>(kFirst + static_cast<uint64_t>(device.id.value()));
}

int64_t ChromeWriter::arrowId(int64_t number) const {
  constexpr int kProcess = 36;  // what is left of 2^53, which readers that know only doubles need, is for processes
  if (m_only) return number;
  return static_cast<int64_t>(static_cast<uint64_t>(number) +
                              (static_cast<uint64_t>(m_process->id.value()) << kProcess));
}

ChromeWriter::Place ChromeWriter::placeOf(StreamId id) const {
  const auto known = m_places.find(id);
  return known == m_places.end() ? Place{m_pid, -1, -1, 0} : known->second;
}

int64_t ChromeWriter::tidOf(ThreadId id) const {
  const auto known = m_tids.find(id);
  return known == m_tids.end() ? 0 : known->second;
}

// An imported trace tells where its times began; programs that round them then round what they round of the source.
Status ChromeWriter::findSourceClock() {
  if (!m_only) return Unit{};
  auto rows = m_trace.query(
      "SELECT v.text FROM process_variable p JOIN main.string n ON n.id = p.name_id JOIN main.string v"
      " ON v.id = p.value_id WHERE p.process_id = ?1 AND n.text = 'trace.baseTimeNanoseconds'");
  if (!rows.ok()) return rows.error();
  rows.value().bind(1, m_only->id.value());
  if (!rows.value().next()) return rows.value().status();
  const std::string_view text = rows.value().text(0);
  int64_t base = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), base);
  const int64_t start = m_trace.info().sessionStartRealtimeNs;
  // What a damaged file says of it only has to fit.
  constexpr int64_t kLatest = int64_t{1} << 61;
  const bool isUsable = error == std::errc() && end == text.data() + text.size() && base >= 0 && base < kLatest;
  if (isUsable && start > -kLatest && start < kLatest) m_shiftNs = start - base;
  return Unit{};
}

void ChromeWriter::findPlaces() {
  m_places.clear();
  m_placeOfStream.clear();
  m_tids.clear();
  for (const Thread& thread : m_trace.threads()) {
    if (thread.process == m_process->id) m_tids[thread.id] = thread.tid;
  }
  for (const Stream& stream : m_trace.streams()) {
    if (stream.process != m_process->id) continue;
    const Device* device = stream.device ? m_trace.device(*stream.device) : nullptr;
    const Place place{device ? devicePid(*device) : m_pid, device ? device->ordinal : -1, stream.number,
                      stream.context};
    m_places[stream.id] = place;
    m_placeOfStream.emplace(stream.number, place);
  }
}

void ChromeWriter::names() {
  const auto name = [&](const char* kind, int64_t pid, int64_t tid, std::string_view text) {
    event(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "ts": 0, "args": {{"name": {}}}}})", kind, pid, tid,
          jsonText(text));
  };
  const auto label = [&](int64_t pid, std::string_view text) {
    event(R"({{"ph": "M", "name": "process_labels", "pid": {}, "tid": 0, "ts": 0, "args": {{"labels": {}}}}})", pid,
          jsonText(text));
  };
  const auto sort = [&](int64_t pid, int64_t index) {
    event(R"({{"ph": "M", "name": "process_sort_index", "pid": {}, "tid": 0, "ts": 0, "args": {{"sort_index": {}}}}})",
          pid, index);
  };
  // A hundred places for each process; what a damaged file says of it only has to fit.
  constexpr int64_t kPlaces = 100, kMostRanks = 1 << 24;
  const Process& process = *m_process;
  const int64_t order = kPlaces * std::clamp<int64_t>(process.rank.value_or(process.id.value()), 0, kMostRanks);
  name("process_name", m_pid, 0, process.program);
  label(m_pid, process.rank ? fmt::format("CPU, rank {}", *process.rank) : std::string("CPU"));
  sort(m_pid, order);
  for (const Thread& thread : m_trace.threads()) {
    if (thread.process != process.id) continue;
    name("thread_name", m_pid, thread.tid, thread.name.empty() ? fmt::format("thread {}", thread.tid) : thread.name);
  }
  for (const Device& device : m_trace.devices()) {
    if (device.process != process.id) continue;
    const int64_t pid = devicePid(device);
    name("process_name", pid, 0, process.program);
    label(pid, process.rank && !m_only ? fmt::format("GPU {}, rank {}", device.ordinal, *process.rank)
                                       : fmt::format("GPU {}", device.ordinal));
    sort(pid, order + 1 + std::clamp<int64_t>(device.ordinal, 0, kPlaces - 2));
  }
  for (const Stream& stream : m_trace.streams()) {
    if (stream.process != process.id) continue;
    name("thread_name", placeOf(stream.id).pid, stream.number, stream.name);
  }
}

// Whether an operator comes before every range of the program. No value: it has neither.
Result<std::optional<bool>> ChromeWriter::beginsWithOperator() {
  std::optional<int64_t> range, first;
  const Status ranges =
      each("SELECT start_ns FROM main.range WHERE process_id = ?1 AND kind = 'push_pop' ORDER BY id LIMIT 1",
           [&](Statement& row) { range = row.integer(0); });
  if (!ranges.ok()) return ranges.error();
  const Status operators = each("SELECT start_ns FROM operator WHERE process_id = ?1 ORDER BY id LIMIT 1",
                                [&](Statement& row) { first = row.integer(0); });
  if (!operators.ok()) return operators.error();
  if (!range && !first) return std::optional<bool>();
  return std::optional<bool>(first && (!range || *first < *range));
}

// Readers link GPU work without a launch to the first event of the file, which in torch's files is one of these two.
Status ChromeWriter::process(const Process& process) {
  m_process = &process;
  m_pid = pidOf(process);
  findPlaces();
  const auto beginsWith = beginsWithOperator();
  if (!beginsWith.ok()) return beginsWith.error();
  using Part = Status (ChromeWriter::*)();
  for (const Part load : {&ChromeWriter::loadStacks, &ChromeWriter::loadLinks, &ChromeWriter::loadCollectives}) {
    if (Status done = (this->*load)(); !done.ok()) return done;
  }
  std::array parts = {&ChromeWriter::rangeEvents,      &ChromeWriter::operatorEvents,  &ChromeWriter::pythonEvents,
                      &ChromeWriter::apiEvents,        &ChromeWriter::osEvents,        &ChromeWriter::libraryEvents,
                      &ChromeWriter::collectiveEvents, &ChromeWriter::gpuEvents,       &ChromeWriter::recordEvents,
                      &ChromeWriter::counterEvents,    &ChromeWriter::memoryEvents,    &ChromeWriter::regionEvents,
                      &ChromeWriter::flowEvents,       &ChromeWriter::diagnosticEvents};
  if (beginsWith.value().value_or(false)) std::swap(parts[0], parts[1]);
  if (!beginsWith.value()) names();
  for (const Part part : parts) {
    if (Status done = (this->*part)(); !done.ok()) return done;
  }
  if (beginsWith.value()) names();
  return Unit{};
}

Status ChromeWriter::write() {
  if (Status found = findSourceClock(); !found.ok()) return found;
  if (Status begun = begin(); !begun.ok()) return begun;
  for (const Process& process : m_trace.processes()) {
    if (m_only && process.id != m_only->id) continue;
    if (Status done = this->process(process); !done.ok()) return done;
  }
  m_block += "\n]}\n";
  flush();
  return Unit{};
}

}  // namespace plumb::exports
