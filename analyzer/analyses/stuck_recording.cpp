// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/stuck_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/collectives.h"
#include "analyzer/analyses/host_activity.h"
#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

constexpr Duration kShortestHang(100'000'000);
constexpr Duration kShortestWithoutKernel(10'000'000'000);
constexpr int64_t kTimesUsual = 10;

std::string textOf(Duration time) {
  const double ns = static_cast<double>(time.ns());
  return ns < 1e9 ? fmt::format("{:.1f} ms", ns / 1e6) : fmt::format("{:.2f} s", ns / 1e9);
}

std::string ranksText(const std::vector<int64_t>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", rankList(ranks));
}

// Who is in a communicator, as far as the file knows, and how it went on.
struct Communicator {
  std::string name;
  int64_t rankCount = 0;
  std::map<ProcessId, int64_t> ranks;                           // of the run
  std::map<std::pair<std::string, ProcessId>, int64_t> latest;  // the largest sequence number by operation
  std::vector<Duration> kernels;                                // of complete instances
  std::vector<const CollectiveInstance*> incomplete, open;      // never called by some; without a kernel on some
};

struct Call {
  ThreadId thread;
  int64_t elementCount = 0;
  std::string datatype;
};

class StuckFinder {
 public:
  explicit StuckFinder(Trace& trace) : m_trace(trace) {}

  Result<std::vector<StuckCollective>> find() {
    if (const Status loaded = loadCommunicators(); !loaded.ok()) return loaded.error();
    if (m_communicators.empty()) return std::vector<StuckCollective>();
    auto analysis = analyzeCollectives(m_trace);
    if (!analysis.ok()) return analysis.error();
    sortInstances(analysis.value());
    const bool isAnySuspicious = std::ranges::any_of(
        m_communicators, [](const auto& c) { return !c.second.incomplete.empty() || !c.second.open.empty(); });
    if (!isAnySuspicious) return std::vector<StuckCollective>();
    if (const Status loaded = loadEnds(); !loaded.ok()) return loaded.error();
    std::vector<StuckCollective> found;
    for (auto& [hash, communicator] : m_communicators) {
      std::optional<StuckCollective> stuck = firstHang(communicator);
      if (!stuck) stuck = lastWithoutKernel(communicator);
      if (stuck) found.push_back(std::move(*stuck));
    }
    if (found.empty()) return found;
    if (const Status described = describe(found); !described.ok()) return described.error();
    sortByBlame(found);
    return found;
  }

 private:
  Status loadCommunicators() {
    auto rows =
        m_trace.query("SELECT process_id, hash, name_id, n_ranks, rank FROM main.communicator WHERE n_ranks > 1");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      Communicator& mine = m_communicators[row.integer(1)];
      if (!row.isNull(2) && mine.name.empty()) mine.name = m_trace.text(row.id<StringId>(2));
      mine.rankCount = row.integer(3);
      const Process* process = m_trace.process(row.id<ProcessId>(0));
      mine.ranks[row.id<ProcessId>(0)] = process && process->rank ? *process->rank : row.integer(4);
    }
    return row.status();
  }

  void sortInstances(const CollectiveAnalysis& analysis) {
    for (const CollectiveInstance& instance : analysis.instances) {
      const auto communicator = m_communicators.find(instance.communicatorHash);
      if (communicator == m_communicators.end() || instance.operation == "Send" || instance.operation == "Recv")
        continue;
      Communicator& mine = communicator->second;
      for (const CollectiveMember& member : instance.members) {
        int64_t& latest = mine.latest.try_emplace({instance.operation, member.process}, -1).first->second;
        latest = std::max(latest, instance.sequence);
      }
      const auto withKernel =
          std::ranges::count_if(instance.members, [](const CollectiveMember& m) { return m.device.has_value(); });
      if (instance.members.size() < mine.ranks.size()) {
        mine.incomplete.push_back(&instance);
      } else if (withKernel < std::ssize(instance.members)) {
        mine.open.push_back(&instance);
      } else {
        for (const CollectiveMember& member : instance.members) mine.kernels.push_back(member.device->length());
      }
    }
    const auto byCall = [](const CollectiveInstance* instance) {
      return std::ranges::min(instance->members, {}, [](const CollectiveMember& m) { return m.host.start; }).host.start;
    };
    for (auto& [hash, communicator] : m_communicators) {
      std::ranges::stable_sort(communicator.incomplete, {}, byCall);
      std::ranges::stable_sort(communicator.open, {}, byCall);
    }
  }

  // When each process was last heard of.
  Status loadEnds() {
    for (const Process& process : m_trace.processes()) {
      if (process.end) m_ends[process.id] = *process.end;
    }
    if (m_ends.size() == m_trace.processes().size()) return Unit{};
    for (const char* sql :
         {"SELECT process_id, max(start_ns + duration_ns) FROM main.api_call GROUP BY process_id",
          "SELECT process_id, max(start_ns + coalesce(duration_ns, 0)) FROM main.range GROUP BY process_id",
          "SELECT process_id, max(start_ns + duration_ns) FROM main.kernel GROUP BY process_id"}) {
      auto rows = m_trace.query(sql);
      if (!rows.ok()) return rows.error();
      while (rows.value().next()) {
        const Process* process = m_trace.process(rows.value().id<ProcessId>(0));
        if (!process || process->end) continue;
        TimePoint& end = m_ends.try_emplace(process->id, rows.value().time(1)).first->second;
        end = std::max(end, rows.value().time(1));
      }
      if (Status status = rows.value().status(); !status.ok()) return status;
    }
    return Unit{};
  }

  [[nodiscard]] TimePoint endOf(ProcessId process) const {
    const auto end = m_ends.find(process);
    return end == m_ends.end() ? kAllTime.start : end->second;
  }

  [[nodiscard]] Duration waitOf(const CollectiveMember& member) const {
    if (member.device) return member.device->length();
    return std::max(endOf(member.process) - member.host.start, Duration());
  }

  static Duration usualOf(Communicator& communicator) {
    auto& kernels = communicator.kernels;
    if (kernels.empty()) return Duration();
    const auto middle = kernels.begin() + static_cast<std::ptrdiff_t>(kernels.size() / 2);
    std::nth_element(kernels.begin(), middle, kernels.end());
    return *middle;
  }

  StuckCollective begin(const Communicator& communicator, const CollectiveInstance& instance) const {
    StuckCollective stuck;
    stuck.communicatorHash = instance.communicatorHash;
    stuck.group = communicator.name.empty() ? fmt::format("0x{:x}", static_cast<uint64_t>(instance.communicatorHash))
                                            : communicator.name;
    stuck.operation = instance.operation;
    stuck.sequence = instance.sequence;
    for (const auto& [process, rank] : communicator.ranks) stuck.ranks.push_back(rank);
    std::ranges::sort(stuck.ranks);
    for (const CollectiveMember& member : instance.members) {
      StuckMember mine{
          member.process, communicator.ranks.at(member.process), false, member.id, member.host.start, {}, {}};
      mine.waited = waitOf(member);
      stuck.waited = std::max(stuck.waited.value_or(Duration()), *mine.waited);
      if (!stuck.since || member.host.start < *stuck.since) stuck.since = member.host.start;
      stuck.members.push_back(mine);
    }
    return stuck;
  }

  // The first collective that a recorded rank never called, if that was a hang.
  std::optional<StuckCollective> firstHang(Communicator& communicator) const {
    const Duration usual = usualOf(communicator);
    for (const CollectiveInstance* instance : communicator.incomplete) {
      StuckCollective stuck = begin(communicator, *instance);
      stuck.kind = StuckKind::NeverCalled;
      bool isHang = *stuck.waited >= kShortestHang && stuck.waited->ns() / kTimesUsual >= usual.ns();
      bool isRecordLost = false;
      for (const auto& [process, rank] : communicator.ranks) {
        const auto isMine = [&](const CollectiveMember& member) { return member.process == process; };
        if (std::ranges::any_of(instance->members, isMine)) continue;
        const auto latest = communicator.latest.find({instance->operation, process});
        isRecordLost |= latest != communicator.latest.end() && latest->second > instance->sequence;
        const Process* known = m_trace.process(process);
        const bool hadEnded = known && known->end && *known->end <= *stuck.since;
        // A trace that only ends earlier on this rank says nothing.
        isRecordLost |= !hadEnded && endOf(process) <= *stuck.since;
        isHang |= hadEnded;
        stuck.missing.push_back(rank);
        stuck.members.push_back({process, rank, true, {}, {}, {}, hadEnded ? endText(*known, *stuck.since) : ""});
      }
      if (isRecordLost || !isHang) continue;
      for (const StuckMember& member : stuck.members) {
        if (!member.isMissing) stuck.waiting.push_back(member.rank);
      }
      return sorted(std::move(stuck));
    }
    return std::nullopt;
  }

  // The last collective, when all called it and kernels of it are missing although others are there.
  std::optional<StuckCollective> lastWithoutKernel(const Communicator& communicator) const {
    if (communicator.open.empty() || communicator.kernels.empty()) return std::nullopt;
    const CollectiveInstance& instance = *communicator.open.front();
    StuckCollective stuck = begin(communicator, instance);
    if (*stuck.waited < kShortestWithoutKernel) return std::nullopt;
    for (size_t i = 0; i < instance.members.size(); ++i) {
      auto& list = instance.members[i].device ? stuck.completed : stuck.waiting;
      list.push_back(stuck.members[i].rank);
      if (instance.members[i].device) stuck.members[i].waited.reset();
    }
    stuck.kind = stuck.completed.empty() ? StuckKind::Waiting : StuckKind::HeldBack;
    if (stuck.kind == StuckKind::HeldBack) {
      std::swap(stuck.missing, stuck.waiting);
      for (StuckMember& member : stuck.members) member.isMissing = member.waited.has_value();
    }
    return sorted(std::move(stuck));
  }

  static StuckCollective sorted(StuckCollective stuck) {
    for (auto* list : {&stuck.missing, &stuck.waiting, &stuck.completed}) std::ranges::sort(*list);
    std::ranges::sort(stuck.members, {}, [](const StuckMember& m) { return std::tuple(m.isMissing, m.rank); });
    return stuck;
  }

  static std::string endText(const Process& process, TimePoint since) {
    return fmt::format("its recording had ended{} {} before", process.ended == "lost" ? " without a goodbye" : "",
                       textOf(since - *process.end));
  }

  Status describe(std::vector<StuckCollective>& found) {
    if (const Status loaded = loadCalls(found); !loaded.ok()) return loaded;
    HostActivity::Moments interest;
    for (const StuckCollective& stuck : found) {
      for (const StuckMember& member : stuck.members) {
        if (const auto thread = threadOf(member)) {
          IntervalSet& moments = interest[*thread];
          moments = unite(moments, IntervalSet::unionOf({windowOf(stuck)}));
        }
      }
    }
    auto activity = HostActivity::load(m_trace, interest);
    if (!activity.ok()) return activity.error();
    for (StuckCollective& stuck : found) describe(stuck, activity.value(), found);
    return Unit{};
  }

  static Interval windowOf(const StuckCollective& stuck) {
    return {*stuck.since, *stuck.since + std::max(stuck.waited.value_or(Duration()), Duration(1))};
  }

  // The threads that call collectives, and what the stuck ones were called with.
  Status loadCalls(const std::vector<StuckCollective>& found) {
    std::set<CollectiveId> wanted;
    for (const StuckCollective& stuck : found) {
      for (const StuckMember& member : stuck.members) {
        if (member.call) wanted.insert(*member.call);
      }
    }
    auto rows =
        m_trace.query("SELECT id, process_id, thread_id, element_count, datatype_id FROM main.collective ORDER BY id");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      m_threads[row.id<ProcessId>(1)] = row.id<ThreadId>(2);
      const auto id = row.id<CollectiveId>(0);
      if (wanted.count(id))
        m_calls[id] = {row.id<ThreadId>(2), row.integer(3), std::string(m_trace.text(row.id<StringId>(4)))};
    }
    return row.status();
  }

  [[nodiscard]] std::optional<ThreadId> threadOf(const StuckMember& member) const {
    if (member.call) {
      const auto call = m_calls.find(*member.call);
      return call == m_calls.end() ? std::nullopt : std::optional(call->second.thread);
    }
    const auto thread = m_threads.find(member.process);
    return thread == m_threads.end() ? std::nullopt : std::optional(thread->second);
  }

  void describe(StuckCollective& stuck, const HostActivity& activity, const std::vector<StuckCollective>& all) const {
    for (StuckMember& member : stuck.members) {
      if (member.call && stuck.sizes.empty()) {
        const auto call = m_calls.find(*member.call);
        if (call == m_calls.end()) continue;
        stuck.sizes = std::to_string(call->second.elementCount);
        stuck.datatype = call->second.datatype;
        activity.forEach(call->second.thread, {*member.called, *member.called + Duration(1)},
                         [&](const HostMoment& moment) {
                           if (moment.range != StringId())
                             stuck.place = fmt::format("range '{}'", m_trace.text(moment.range));
                         });
      }
      if (member.isMissing && member.doing.empty()) member.doing = doingOf(stuck, member, activity, all);
    }
    stuck.reason = reasonOf(stuck);
  }

  std::string doingOf(const StuckCollective& stuck, const StuckMember& member, const HostActivity& activity,
                      const std::vector<StuckCollective>& all) const {
    for (const StuckCollective& other : all) {
      if (&other == &stuck || std::ranges::count(other.waiting, member.rank) == 0) continue;
      return fmt::format("it waited for {} in {} {} of {}", ranksText(other.missing), other.operation, other.sequence,
                         other.group);
    }
    const auto thread = threadOf(member);
    if (!thread) return "";
    std::map<std::pair<StringId, StringId>, Duration> times;
    activity.forEach(*thread, windowOf(stuck), [&](const HostMoment& moment) {
      if (moment.isRecorded) times[{moment.range, moment.call}] += moment.time.length();
    });
    if (times.empty()) return "nothing of it was recorded meanwhile";
    const auto& [what, time] = *std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; });
    std::string place;
    if (what.first != StringId()) place = fmt::format("range '{}'", m_trace.text(what.first));
    if (what.second != StringId()) place += fmt::format("{}{}", place.empty() ? "" : ", ", m_trace.text(what.second));
    return fmt::format("it was in {} for {}", place, textOf(time));
  }

  [[nodiscard]] std::string reasonOf(const StuckCollective& stuck) const {
    std::string reason;
    if (stuck.kind == StuckKind::NeverCalled) {
      reason = fmt::format("{} called it and waited {} for {}, which never called it", ranksText(stuck.waiting),
                           textOf(stuck.waited.value_or(Duration())), ranksText(stuck.missing));
    } else if (stuck.kind == StuckKind::HeldBack) {
      reason = fmt::format("{} completed it, and no kernel of {} ended", ranksText(stuck.completed),
                           ranksText(stuck.missing));
    } else {
      reason = "all ranks called it and no kernel of it ended: it waits for work queued before it, or for the network";
    }
    for (const StuckMember& member : stuck.members) {
      if (member.isMissing && !member.doing.empty()) reason += fmt::format("; rank {}: {}", member.rank, member.doing);
    }
    return reason;
  }

  static void sortByBlame(std::vector<StuckCollective>& found) {
    std::set<int64_t> waiting;
    for (const StuckCollective& stuck : found) waiting.insert(stuck.waiting.begin(), stuck.waiting.end());
    const auto key = [&](const StuckCollective& stuck) {
      const bool isConsequence =
          std::ranges::any_of(stuck.missing, [&](int64_t rank) { return waiting.count(rank) > 0; });
      return std::tuple(stuck.missing.empty(), isConsequence, *stuck.since);
    };
    std::ranges::stable_sort(found, {}, key);
  }

  Trace& m_trace;
  std::map<int64_t, Communicator> m_communicators;  // by hash
  std::unordered_map<ProcessId, TimePoint> m_ends;
  std::unordered_map<ProcessId, ThreadId> m_threads;  // that called its last collective
  std::map<CollectiveId, Call> m_calls;
};

}  // namespace

Result<std::vector<StuckCollective>> findStuckInRecording(Trace& trace) { return StuckFinder(trace).find(); }

}  // namespace plumb
