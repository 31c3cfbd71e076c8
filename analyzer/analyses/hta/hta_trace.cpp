// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyzer/analyses/launched_work.h"
#include "analyzer/intervals/gallop.h"

namespace plumb::hta {
namespace {

bool startsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }
bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

int64_t floorToUs(int64_t ns) { return ns >= 0 ? ns / 1000 : -((999 - ns) / 1000); }
int64_t ceilToUs(int64_t ns) { return -floorToUs(-ns); }

std::optional<double> optionalReal(const Statement& row, int column) {
  return row.isNull(column) ? std::nullopt : std::optional(row.real(column));
}

class Loader {
 public:
  Loader(Trace& trace, const EventFilter& kept) : m_trace(trace), m_kept(kept) {}

  Result<Run> run(std::optional<int64_t> rank) {
    for (const Process& process : m_trace.processes()) {
      m_rankOf[process.id] = m_run.ranks.size();
      Rank& one = m_run.ranks.emplace_back();
      one.process = process.id;
      one.rank = process.rank;
    }
    for (const Status& read : {readWork(), readWaits(), readOperators(), readCalls(), readSteps(), readFirstEvents()}) {
      if (!read.ok()) return read.error();
    }
    for (Rank& one : m_run.ranks) {
      toFileOrder(one.work);
      link(one);
      if (m_stepNames.size() >= 2) dropLastStep(one);
      for (const auto& [start, number] : m_steps[one.process]) {
        if (m_stepNames.size() < 2 || start < m_lastStep[one.process]) one.steps.push_back(number);
      }
      std::sort(one.steps.begin(), one.steps.end());
      one.steps.erase(std::unique(one.steps.begin(), one.steps.end()), one.steps.end());
    }
    std::erase_if(m_run.ranks, [&](const Rank& one) {
      const bool isEmpty = one.work.empty() && one.operators.empty() && one.calls.empty() && one.steps.empty();
      return (rank && one.rank != rank) || isEmpty;
    });
    return std::move(m_run);
  }

 private:
  [[nodiscard]] Microseconds rounded(int64_t startNs, int64_t durationNs) const {
    return hta::rounded(m_trace, startNs, durationNs);
  }
  Rank* rankOf(ProcessId process) {
    const auto found = m_rankOf.find(process);
    return found == m_rankOf.end() ? nullptr : &m_run.ranks[found->second];
  }
  size_t nameOf(const std::string& name) {
    const auto [known, isNew] = m_names.emplace(name, m_run.names.size());
    if (isNew) m_run.names.push_back(name);
    return known->second;
  }

  struct Name {
    size_t index = 0;  // into Run::names
    KernelType type = KernelType::Other;
  };
  Name nameOf(StringId id) {  // each text is looked at once
    const auto [known, isNew] = m_namesById.emplace(id, Name());
    if (isNew) {
      const std::string text(m_trace.text(id));
      known->second = {nameOf(text), kernelTypeOf(text)};
    }
    return known->second;
  }

  // Null, when it does not count; stream -1, when it bears none.
  Work* add(Statement& row, WorkKind kind, const std::string& name, double bytes,
            std::optional<double> bandwidth = std::nullopt) {
    return add(row, kind, Name{nameOf(name), kernelTypeOf(name)}, bytes, bandwidth);
  }
  Work* add(Statement& row, WorkKind kind, Name name, double bytes, std::optional<double> bandwidth = std::nullopt) {
    Rank* rank = rankOf(row.id<ProcessId>(0));
    if (!rank || !isUsableTime(row.integer(3), row.integer(4))) return nullptr;
    if (!m_kept.keepsOnGpu(rank->process, row.time(3))) return nullptr;
    const bool bearsStream = !row.isNull(1) && row.integer(1) >= 0;
    if (!bearsStream && kind != WorkKind::Wait) return nullptr;
    const Microseconds time = rounded(row.integer(3), row.integer(4));
    Work& work = (bearsStream ? rank->work : rank->deviceWaits).emplace_back();
    work.ts = time.ts;
    work.dur = time.dur;
    work.stream = bearsStream ? row.integer(1) : -1;
    work.correlation = row.integer(2);
    work.name = name.index;
    work.type = name.type;
    work.kind = kind;
    if (bandwidth) {
      work.bandwidth = *bandwidth;
    } else if (row.integer(4) > 0) {
      work.bandwidth = bytes / static_cast<double>(row.integer(4));
    }
    return &work;
  }

  Status readWork() {
    auto kernels = m_trace.query(
        "SELECT k.process_id, s.number, k.correlation, k.start_ns, k.duration_ns, k.name_id FROM main.kernel k"
        " JOIN main.stream s ON s.id = k.stream_id WHERE k.flags & 1 = 0 ORDER BY k.id");
    if (!kernels.ok()) return kernels.error();
    while (kernels.value().next()) {
      add(kernels.value(), WorkKind::Kernel, nameOf(kernels.value().id<StringId>(5)), 0);
    }
    if (Status status = kernels.value().status(); !status.ok()) return status;
    auto copies = m_trace.query(
        "SELECT k.process_id, s.number, k.correlation, k.start_ns, k.duration_ns, k.copy_kind, k.source_kind,"
        " k.target_kind, k.bytes, b.gb_per_s FROM main.memory_copy k JOIN main.stream s ON s.id = k.stream_id"
        " LEFT JOIN memory_copy_bandwidth b ON b.memory_copy_id = k.id WHERE k.flags & 1 = 0 ORDER BY k.id");
    if (!copies.ok()) return copies.error();
    Statement& copy = copies.value();
    while (copy.next()) {
      add(copy, WorkKind::Copy, copyName(copy.integer(5), copy.integer(6), copy.integer(7)), copy.real(8),
          optionalReal(copy, 9));
    }
    if (Status status = copy.status(); !status.ok()) return status;
    auto sets = m_trace.query(
        "SELECT k.process_id, s.number, k.correlation, k.start_ns, k.duration_ns, k.memory_kind, k.bytes, b.gb_per_s"
        " FROM main.memory_set k JOIN main.stream s ON s.id = k.stream_id"
        " LEFT JOIN memory_set_bandwidth b ON b.memory_set_id = k.id WHERE k.flags & 1 = 0 ORDER BY k.id");
    if (!sets.ok()) return sets.error();
    Statement& set = sets.value();
    while (set.next()) {
      add(set, WorkKind::Set, "Memset (" + std::string(memoryName(set.integer(5))) + ")", set.real(6),
          optionalReal(set, 7));
    }
    return set.status();
  }

  // A wait of a whole context bears no stream here. Where sources wrote 2^32-1 for that it counts as work; those that
  // write -1 also record waits for events, by which they are told.
  Status readWaits() {
    static constexpr std::array<const char*, 5> kNames = {"Unknown Sync", "Event Sync", "Stream Wait Event",
                                                          "Stream Sync", "Context Sync"};
    auto waits = m_trace.query(
        "SELECT y.process_id, CASE WHEN y.kind = 4 AND y.stream_id IS NULL AND NOT EXISTS (SELECT 1 FROM"
        " main.synchronization WHERE kind = 1) THEN 4294967295 ELSE s.number END, y.correlation, y.start_ns,"
        " y.duration_ns, y.kind, e.recorded_correlation, r.number FROM main.synchronization y"
        " LEFT JOIN main.stream s ON s.id = y.stream_id"
        " LEFT JOIN synchronization_event e ON e.synchronization_id = y.id"
        " LEFT JOIN main.stream r ON r.id = e.recorded_stream_id ORDER BY y.id");
    if (!waits.ok()) return waits.error();
    while (waits.value().next()) {
      const int64_t kind = waits.value().integer(5);
      Work* wait = add(waits.value(), WorkKind::Wait, kNames[kind > 0 && kind < 5 ? static_cast<size_t>(kind) : 0], 0);
      if (!wait) continue;
      wait->wait = kind;
      wait->recordedCall = waits.value().optionalInteger(6);
      wait->recordedStream = waits.value().optionalInteger(7);
    }
    return waits.value().status();
  }

  Status readOperators() {
    auto sets = m_trace.query(std::string(kArgumentsWithStream));
    if (!sets.ok()) return sets.error();
    std::unordered_map<int64_t, int64_t> streams;  // by argument set
    while (sets.value().next()) streams.emplace(sets.value().integer(0), sets.value().integer(1));
    if (Status status = sets.value().status(); !status.ok() || streams.empty()) return status;
    auto operators = m_trace.query(
        "SELECT process_id, start_ns, duration_ns, name_id, argument_set_id FROM operator WHERE argument_set_id IS NOT"
        " NULL ORDER BY id");
    if (!operators.ok()) return operators.error();
    Statement& row = operators.value();
    while (row.next()) {
      const auto stream = streams.find(row.integer(4));
      Rank* rank = stream == streams.end() ? nullptr : rankOf(row.id<ProcessId>(0));
      if (!rank || !isUsableTime(row.integer(1), row.integer(2))) continue;
      if (!m_kept.keepsOnHost(rank->process, row.time(1))) continue;
      const Microseconds time = rounded(row.integer(1), row.integer(2));
      const Name name = nameOf(row.id<StringId>(3));
      rank->operators.push_back({.ts = time.ts,
                                 .dur = time.dur,
                                 .stream = stream->second,
                                 .correlation = -1,
                                 .name = name.index,
                                 .type = name.type,
                                 .kind = WorkKind::Operator});
    }
    return row.status();
  }

  Status readCalls() {
    static const std::set<std::string, std::less<>> kLaunches = {"cudaLaunchKernel", "cudaLaunchKernelExC",
                                                                 "cudaMemcpyAsync", "cudaMemsetAsync"};
    static const std::set<std::string, std::less<>> kQueued = {
        "cudaMemsetAsync", "cudaMemcpyAsync", "cudaLaunchKernel", "cudaLaunchKernelExC",      "cuLaunchKernel",
        "hipLaunchKernel", "hipMemsetAsync",  "hipMemcpyAsync",   "hipExtModuleLaunchKernel", "hipMemcpyWithStream"};
    struct Known {
      bool isLaunch, isQueued;
    };
    std::unordered_map<StringId, Known> names;
    auto calls = m_trace.query(
        "SELECT process_id, correlation, start_ns, duration_ns, name_id, thread_id FROM main.api_call"
        " ORDER BY id");
    if (!calls.ok()) return calls.error();
    Statement& row = calls.value();
    while (row.next()) {
      Rank* rank = rankOf(row.id<ProcessId>(0));
      if (!rank || !isUsableTime(row.integer(2), row.integer(3))) continue;
      if (!m_kept.keepsOnHost(rank->process, row.time(2))) continue;
      auto name = names.find(row.id<StringId>(4));
      if (name == names.end()) {
        const std::string text(m_trace.text(row.id<StringId>(4)));
        const Known known{kLaunches.count(text) > 0, kQueued.count(text) > 0};
        name = names.emplace(row.id<StringId>(4), known).first;
      }
      const Microseconds time = rounded(row.integer(2), row.integer(3));
      rank->calls.push_back({time.ts, time.dur, row.integer(1), row.id<ThreadId>(5), row.id<StringId>(4),
                             name->second.isLaunch, name->second.isQueued});
    }
    return row.status();
  }

  // The copies of the ranges that the profiler draws on the GPU count too. Steps of another name are what an export for
  // HTA calls ProfilerStep.
  Status readSteps() {
    auto rows = m_trace.query(
        "SELECT r.process_id, r.start_ns, n.text FROM main.range r JOIN main.string n ON n.id = r.name_id"
        " WHERE n.text LIKE '%ProfilerStep%'"
        " UNION ALL SELECT process_id, start_ns, 'ProfilerStep#' || step FROM steps WHERE name NOT LIKE "
        "'%ProfilerStep%'");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      if (!isUsableTime(row.integer(1), 0) || !m_kept.keepsOnHost(row.id<ProcessId>(0), row.time(1))) continue;
      const std::string_view name = row.text(2);
      m_stepNames.insert(std::string(name));
      const int64_t start = rounded(row.integer(1), 0).ts;
      const auto [last, isNew] = m_lastStep.emplace(row.id<ProcessId>(0), start);
      if (!isNew) last->second = std::max(last->second, start);
      int64_t number = 0;
      if (const size_t mark = name.find('#'); mark != std::string_view::npos) {
        (void)std::from_chars(name.data() + mark + 1, name.data() + name.size(), number);
        m_steps[row.id<ProcessId>(0)].push_back({start, number});
      }
    }
    return row.status();
  }

  // What has no launch is linked to row 0, the file's first event, which is a range or an operator where it counts.
  Status readFirstEvents() {
    for (const char* sql : {"SELECT process_id, start_ns FROM main.range WHERE kind = 'push_pop' ORDER BY id",
                            "SELECT process_id, start_ns FROM operator ORDER BY id"}) {
      auto rows = m_trace.query(sql);
      if (!rows.ok()) return rows.error();
      std::set<ProcessId> found;
      while (found.size() < m_run.ranks.size() && rows.value().next()) {
        const auto process = rows.value().id<ProcessId>(0);
        Rank* rank = rankOf(process);
        if (!rank || !m_kept.keepsOnHost(process, rows.value().time(1)) || !found.insert(process).second) continue;
        if (!isUsableTime(rows.value().integer(1), 0)) continue;
        const int64_t start = rounded(rows.value().integer(1), 0).ts;
        rank->firstEvent = std::min(rank->firstEvent.value_or(start), start);
      }
      if (Status status = rows.value().status(); !status.ok()) return status;
    }
    return Unit{};
  }

  // A source lists work by correlation id, whatever its kind, and begins anew with each buffer; here each kind has its
  // own table.
  static void toFileOrder(std::vector<Work>& work) {
    struct Key {
      int64_t section, correlation;
      size_t index;
    };
    std::array<std::pair<int64_t, int64_t>, 4> kinds{};  // section and last correlation id of each kind
    std::vector<Key> keys;
    for (size_t i = 0; i < work.size(); ++i) {
      auto& [section, last] = kinds[static_cast<size_t>(work[i].kind)];
      if (work[i].correlation < last) ++section;
      last = work[i].correlation;
      keys.push_back({section, last, i});
    }
    std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
      return std::tie(a.section, a.correlation, a.index) < std::tie(b.section, b.correlation, b.index);
    });
    std::vector<Work> sorted;
    for (const Key& key : keys) sorted.push_back(work[key.index]);
    work = std::move(sorted);
  }

  // The last call of a correlation id is the launch.
  static void link(Rank& rank) {
    struct Start {
      int64_t correlation, ts;
    };
    std::vector<Start> starts;
    starts.reserve(rank.calls.size());
    for (const Call& call : rank.calls) starts.push_back({call.correlation, call.ts});
    if (!std::ranges::is_sorted(starts, {}, &Start::correlation)) {
      std::ranges::stable_sort(starts, {}, &Start::correlation);
    }
    size_t hint = 0;
    for (Work& work : rank.work) {
      hint =
          partitionPointNear(starts, hint, [&](const Start& start) { return start.correlation <= work.correlation; });
      const bool isLaunched = hint > 0 && starts[hint - 1].correlation == work.correlation;
      work.launch = isLaunched ? std::optional(starts[hint - 1].ts) : rank.firstEvent;
    }
  }

  void dropLastStep(Rank& rank) {
    const auto last = m_lastStep.find(rank.process);
    rank.end = last == m_lastStep.end() ? std::numeric_limits<int64_t>::min() : last->second;
    if (last == m_lastStep.end()) {
      rank.calls.clear();
      rank.operators.clear();
    } else {
      std::erase_if(rank.calls, [&](const Call& call) { return call.ts >= last->second; });
      std::erase_if(rank.operators, [&](const Work& one) { return one.ts >= last->second; });
    }
    std::unordered_map<int64_t, int64_t> calls;
    for (const Call& call : rank.calls) ++calls[call.correlation];
    for (std::vector<Work>* list : {&rank.work, &rank.deviceWaits}) {
      std::vector<Work> kept;
      for (const Work& work : *list) {
        const auto count = calls.find(work.correlation);
        for (int64_t i = count == calls.end() ? 0 : count->second; i > 0; --i) kept.push_back(work);
      }
      *list = std::move(kept);
    }
  }

  static std::string_view memoryName(int64_t kind) {
    static constexpr std::array<std::string_view, 6> kNames = {"Unknown", "Pageable", "Pinned",
                                                               "Device",  "Array",    "Managed"};
    return kNames[kind > 0 && kind < 6 ? static_cast<size_t>(kind) : 0];
  }
  // Sources that do not know more of the host's memory call it Host.
  static std::string copyName(int64_t kind, int64_t source, int64_t target) {
    static constexpr std::array<std::string_view, 11> kNames = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                                "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
    const std::string_view direction = kNames[kind > 0 && kind < 11 ? static_cast<size_t>(kind) : 0];
    const auto side = [&](int64_t memory, char letter) {
      return memory == 0 && letter == 'H' ? std::string_view("Host") : memoryName(memory);
    };
    std::string name = "Memcpy ";
    name += direction;
    name += " (";
    name += side(source, direction.front());
    name += " -> ";
    name += side(target, direction.back());
    return name + ")";
  }

  Trace& m_trace;
  const EventFilter& m_kept;
  Run m_run;
  std::unordered_map<ProcessId, size_t> m_rankOf;
  std::unordered_map<std::string, size_t> m_names;
  std::unordered_map<StringId, Name> m_namesById;
  std::set<std::string> m_stepNames;
  std::map<ProcessId, int64_t> m_lastStep;
  std::map<ProcessId, std::vector<std::pair<int64_t, int64_t>>> m_steps;  // start, number
};

}  // namespace

// Its regular expressions, anchored at the start.
KernelType kernelTypeOf(std::string_view name) {
  if (startsWith(name, "nccl") || startsWith(name, "hip") || startsWith(name, "hccl") || has(name, "ncclKernel")) {
    return KernelType::Communication;
  }
  if (startsWith(name, "Memcpy") || startsWith(name, "Memset") || startsWith(name, "dma")) return KernelType::Memory;
  const bool isExcluded = has(name, "Memcpy") || has(name, "Memset") || has(name, "dma") || has(name, "Sync") ||
                          startsWith(name, "Stream Wait Event") || startsWith(name, "runFunction") ||
                          (startsWith(name, "cuda") && has(name, "LaunchKernel"));
  return isExcluded ? KernelType::Other : KernelType::Computation;
}

const char* nameOf(KernelType type) {
  static constexpr std::array<const char*, 4> kNames = {"COMMUNICATION", "MEMORY", "COMPUTATION", "OTHER"};
  return kNames[static_cast<size_t>(type)];
}

Microseconds rounded(const Trace& trace, int64_t startNs, int64_t durationNs) {
  const int64_t origin = trace.info().sessionStartRealtimeNs;
  const int64_t ts = ceilToUs(origin + startNs);
  return {ts - origin / 1000, floorToUs(origin + startNs + durationNs) - ts};
}

Result<Run> load(Trace& trace, const Filter& filter) {
  // The steps that HTA drops and the names that it numbers are those of all ranks.
  Filter times = filter;
  times.rank.reset();
  auto kept = EventFilter::load(trace, times);
  if (!kept.ok()) return kept.error();
  return Loader(trace, kept.value()).run(filter.rank);
}

}  // namespace plumb::hta
