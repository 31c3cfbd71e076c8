// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/clock_offsets.h"
#include "analyzer/analyses/work_filter.h"
#include "collector/schema/collective_names.h"

namespace plumb {
namespace {

struct Record {
  CollectiveMember member;
  std::optional<int64_t> hash;
  int64_t rankCount = 0;
  std::string_view communicatorName, operation, datatype;
  int64_t sequence = -1;
  int64_t bytes = 0;
  bool sharesKernel = false;
  Correlation correlation;  // of its kernel
};

using Cause = std::pair<int64_t, int64_t>;  // (process, external id) or (process, correlation)
struct CauseHash {
  size_t operator()(const Cause& cause) const {
    return std::hash<int64_t>{}(static_cast<int64_t>(static_cast<uint64_t>(cause.first) * 0x9e3779b97f4a7c15u) ^
                                cause.second);
  }
};
template <class Value>
using ByCause = std::unordered_map<Cause, Value, CauseHash>;

Result<std::vector<Record>> loadRecords(Trace& trace, ByCause<std::vector<size_t>>& byCause) {
  auto rows = trace.query(
      "SELECT c.id, c.process_id, c.start_ns, c.duration_ns, c.sequence, c.operation_id, c.datatype_id, c.bytes,"
      " c.external_id, m.hash, m.n_ranks, m.name_id FROM main.collective c"
      " LEFT JOIN main.communicator m ON m.id = c.communicator_id ORDER BY c.id");
  if (!rows.ok()) return rows.error();
  std::vector<Record> records;
  Statement& row = rows.value();
  while (row.next()) {
    Record record;
    record.member.id = row.id<CollectiveId>(0);
    record.member.process = row.id<ProcessId>(1);
    if (const Process* process = trace.process(record.member.process)) record.member.rank = process->rank;
    if (isUsableTime(row.integer(2), row.integer(3))) record.member.host = intervalOf(row.integer(2), row.integer(3));
    record.sequence = row.integer(4);
    record.operation = trace.text(row.id<StringId>(5));
    record.datatype = trace.text(row.id<StringId>(6));
    record.bytes = row.integer(7);
    record.hash = row.optionalInteger(9);
    record.rankCount = row.integer(10);
    if (!row.isNull(11)) record.communicatorName = trace.text(row.id<StringId>(11));
    if (!row.isNull(8)) byCause[{record.member.process.value(), row.integer(8)}].push_back(records.size());
    records.push_back(record);
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  return records;
}

// Gives each record the time of what was launched for it.
Status joinKernels(Trace& trace, const ByCause<std::vector<size_t>>& byCause, std::vector<Record>& records) {
  ByCause<std::vector<size_t>> byCorrelation;  // several records: one kernel carries a group of collectives
  auto links = trace.query("SELECT process_id, external_id, correlation FROM main.correlation_link");
  if (!links.ok()) return links.error();
  while (links.value().next()) {
    const auto cause = byCause.find({links.value().integer(0), links.value().integer(1)});
    if (cause == byCause.end()) continue;
    std::vector<size_t>& mine = byCorrelation[{links.value().integer(0), links.value().integer(2)}];
    const bool isRepeated = !cause->second.empty() && std::ranges::find(mine, cause->second.front()) != mine.end();
    if (!isRepeated) mine.insert(mine.end(), cause->second.begin(), cause->second.end());
  }
  if (Status status = links.value().status(); !status.ok()) return status;
  if (byCorrelation.empty()) return Unit{};

  for (const bool isKernel : {true, false}) {
    auto rows = trace.query(
        isKernel ? "SELECT process_id, correlation, start_ns, duration_ns, flags, id FROM main.kernel"
                 : "SELECT process_id, correlation, start_ns, duration_ns, flags, id FROM main.memory_copy");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      const auto found = byCorrelation.find({row.integer(0), row.integer(1)});
      if (found == byCorrelation.end() || (row.integer(4) & 1) || !isUsableTime(row.integer(2), row.integer(3)))
        continue;
      const Interval time = intervalOf(row.integer(2), row.integer(3));
      for (const size_t index : found->second) {
        Record& record = records[index];
        record.sharesKernel = found->second.size() > 1;
        if (isKernel && !record.member.kernel) record.member.kernel = row.id<KernelId>(5);
        if (!record.member.device) record.correlation = row.id<Correlation>(1);
        std::optional<Interval>& device = record.member.device;
        device = device ? Interval{std::min(device->start, time.start), std::max(device->end, time.end)} : time;
      }
    }
    if (Status status = row.status(); !status.ok()) return status;
  }
  return Unit{};
}

using InstanceKey = std::tuple<int64_t, std::string_view, int64_t>;                 // hash, operation, sequence
using GroupKey = std::tuple<int64_t, std::string_view, std::string_view, int64_t>;  // hash, operation, datatype, bytes

bool hasEveryRank(const CollectiveInstance& instance) {
  return !instance.members.empty() && static_cast<int64_t>(instance.members.size()) == instance.rankCount;
}

// Arrival, wait, transfer and skew, when the file has a kernel of every rank and their clocks can be compared.
void measure(CollectiveInstance& instance, const std::vector<std::optional<Duration>>& corrections) {
  auto& members = instance.members;
  if (!hasEveryRank(instance)) return;
  for (CollectiveMember& member : members) {
    if (!member.device || !member.clock || !corrections[*member.clock]) return;
    member.clockOffset = *corrections[*member.clock];
  }
  TimePoint first = members[0].arrival(), lastEnd = members[0].end();
  for (size_t i = 0; i < members.size(); ++i) {
    first = std::min(first, members[i].arrival());
    lastEnd = std::max(lastEnd, members[i].end());
    if (members[i].arrival() > members[instance.lastArrival].arrival()) instance.lastArrival = i;
  }
  const TimePoint last = members[instance.lastArrival].arrival();
  for (CollectiveMember& member : members) member.wait = last - member.arrival();
  instance.transfer = lastEnd - last;
  instance.skew = last - first;
}

// 0 bytes: a barrier, or a size that is not known; neither has a bandwidth.
std::optional<double> perSecond(double bytes, Duration time) {
  if (time.ns() <= 0 || bytes <= 0) return std::nullopt;
  return bytes / time.seconds();
}

void sortByRank(CollectiveInstance& instance) {
  std::ranges::sort(instance.members, {}, [](const CollectiveMember& member) {
    return std::make_tuple(!member.rank, member.rank.value_or(0), member.process);
  });
}

Status applyFilter(Trace& trace, const Filter& filter, std::vector<Record>& records) {
  if (filter.isWholeTime() && !filter.rank) return Unit{};
  auto kept = WorkFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  for (Record& record : records) {
    CollectiveMember& member = record.member;
    member.isInFilter = member.device ? kept.value().keeps(member.process, record.correlation, member.device->start)
                                      : kept.value().events().keepsOnHost(member.process, member.host.start);
  }
  return Unit{};
}

struct GroupSums {
  CollectiveGroup group;
  std::vector<Duration> kernelTimes;
  double transferBytes = 0;
};

CollectiveGroup finished(GroupSums& sums) {
  CollectiveGroup& group = sums.group;
  const BusFactor bus = busFactorOf(group.operation, group.rankCount);
  group.busFactor = bus.factor;
  group.busFormula = bus.formula;
  for (const Duration time : sums.kernelTimes) group.kernelTime += time;
  if (!sums.kernelTimes.empty()) {
    const auto middle = sums.kernelTimes.begin() + static_cast<std::ptrdiff_t>(sums.kernelTimes.size() / 2);
    std::nth_element(sums.kernelTimes.begin(), middle, sums.kernelTimes.end());
    group.kernelMedian = *middle;
    if (sums.kernelTimes.size() % 2 == 0) {
      const Duration below = *std::max_element(sums.kernelTimes.begin(), middle);
      group.kernelMedian = Duration((below.ns() + middle->ns()) / 2);
    }
  }
  group.kernelAlgbw =
      perSecond(static_cast<double>(group.bytes) * static_cast<double>(sums.kernelTimes.size()), group.kernelTime);
  group.transferAlgbw = perSecond(sums.transferBytes, group.transferTime);
  if (group.kernelAlgbw) group.kernelBusbw = *group.kernelAlgbw * bus.factor;
  if (group.transferAlgbw) group.transferBusbw = *group.transferAlgbw * bus.factor;
  return std::move(group);
}

// Puts records into groups, and into instances by communicator, operation and sequence number.
class Matching {
 public:
  explicit Matching(CollectiveAnalysis& result) : m_result(result) {}

  void add(const Record& record) {
    GroupSums& sums = m_groups[{record.hash.value_or(0), record.operation, record.datatype, record.bytes}];
    if (record.member.isInFilter) count(record, sums);
    if (!record.hash || record.sequence < 0) {
      m_result.unmatched += record.member.isInFilter;
      return;
    }
    const auto [found, isNew] =
        m_instanceOf.try_emplace({*record.hash, record.operation, record.sequence}, m_result.instances.size());
    if (isNew) begin(record, sums);
    CollectiveInstance& instance = m_result.instances[found->second];
    const auto sameProcess = [&](const CollectiveMember& m) { return m.process == record.member.process; };
    if (std::ranges::any_of(instance.members, sameProcess)) {
      m_result.duplicates += record.member.isInFilter;
      return;
    }
    instance.members.push_back(record.member);
    instance.sharesKernel |= record.sharesKernel;
  }

  // Adds the instances to their groups and sorts.
  void finish() {
    for (size_t i = 0; i < m_result.instances.size(); ++i) {
      CollectiveInstance& instance = m_result.instances[i];
      instance.isInFilter = std::ranges::any_of(instance.members, &CollectiveMember::isInFilter);
      if (instance.isInFilter) count(instance, *m_groupOfInstance[i]);
    }
    for (auto& [key, sums] : m_groups) {
      if (sums.group.count > 0) m_result.groups.push_back(finished(sums));
    }
    std::ranges::stable_sort(m_result.groups, std::greater{}, &CollectiveGroup::kernelTime);
    std::ranges::stable_sort(m_result.instances, {}, [](const CollectiveInstance& instance) {
      const CollectiveMember& member = instance.members.front();
      return member.device ? member.arrival() : member.host.start;
    });
  }

 private:
  void count(const Record& record, GroupSums& sums) {
    CollectiveGroup& group = sums.group;
    if (group.count++ == 0) {
      group.communicatorHash = record.hash.value_or(0);
      group.communicatorName = record.communicatorName;
      group.operation = record.operation;
      group.datatype = record.datatype;
      group.rankCount = record.rankCount;
      group.bytes = record.bytes;
    }
    group.withoutKernel += !record.member.device;
    group.sharedKernel += record.sharesKernel;
    if (record.member.device && !record.sharesKernel) sums.kernelTimes.push_back(record.member.device->length());
  }

  void begin(const Record& record, GroupSums& sums) {
    CollectiveInstance instance;
    instance.communicatorHash = *record.hash;
    instance.communicatorName = record.communicatorName;
    instance.operation = record.operation;
    instance.sequence = record.sequence;
    instance.rankCount = record.rankCount;
    instance.bytes = record.bytes;
    m_result.instances.push_back(std::move(instance));
    m_groupOfInstance.push_back(&sums);
  }

  static void count(const CollectiveInstance& instance, GroupSums& sums) {
    ++sums.group.instanceCount;
    if (!instance.transfer) return;
    ++sums.group.completeCount;
    for (const CollectiveMember& member : instance.members) sums.group.waitTime += member.wait;
    sums.group.largestSkew = std::max(sums.group.largestSkew, *instance.skew);
    if (instance.sharesKernel) return;
    sums.group.transferTime += *instance.transfer;
    sums.transferBytes += static_cast<double>(instance.bytes);
  }

  CollectiveAnalysis& m_result;
  std::map<GroupKey, GroupSums> m_groups;
  std::map<InstanceKey, size_t> m_instanceOf;
  std::vector<GroupSums*> m_groupOfInstance;
};

// Whether one session on one machine recorded all processes: an export of Nsight Systems; of other sources each
// process is a file.
Result<bool> isOneSession(Trace& trace) {
  auto rows = trace.query(
      "SELECT 1 FROM main.meta WHERE key = 'imported_from' AND value LIKE '%.sqlite' AND instr(value, ' ') = 0");
  if (!rows.ok()) return rows.error();
  const bool isOne = rows.value().next();
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  return isOne;
}

}  // namespace

BusFactor busFactorOf(std::string_view operation, int64_t n) {
  const double ranks = static_cast<double>(std::max<int64_t>(n, 1));
  const double others = (ranks - 1) / ranks;
  if (operation == "AllReduce") return {2 * others, "2(n-1)/n"};
  if (countsAllRanks(operation)) return {others, "(n-1)/n"};
  return {1, "1"};
}

std::string CollectiveInstance::problem() const {
  if (transfer) return "";
  if (rankCount <= 0) return "cannot say: the size of its communicator is not known";
  if (!hasEveryRank(*this)) return fmt::format("cannot say: {} of {} ranks recorded it", members.size(), rankCount);
  const auto without = std::ranges::count_if(members, [](const CollectiveMember& m) { return !m.device; });
  if (without > 0) return fmt::format("cannot say: no kernel of {} of {} ranks", without, rankCount);
  return "cannot say: the clocks of its hosts cannot be compared";
}

Result<CollectiveAnalysis> analyzeCollectives(Trace& trace, const Filter& filter) {
  ByCause<std::vector<size_t>> byCause;
  auto loaded = loadRecords(trace, byCause);
  if (!loaded.ok()) return loaded.error();
  std::vector<Record>& records = loaded.value();
  if (const Status joined = joinKernels(trace, byCause, records); !joined.ok()) return joined.error();
  if (const Status chosen = applyFilter(trace, filter, records); !chosen.ok()) return chosen.error();

  CollectiveAnalysis result;
  Matching matching(result);
  for (const Record& record : records) matching.add(record);
  for (CollectiveInstance& instance : result.instances) sortByRank(instance);
  result.clocks = findClocks(trace, result.instances);
  const auto isOne = isOneSession(trace);
  if (!isOne.ok()) return isOne.error();
  for (ClockOffset& clock : result.clocks) clock.isOneSession = isOne.value();
  estimateClockOffsets(result.clocks, result.instances);
  std::vector<std::optional<Duration>> corrections;  // by clock; none: it cannot be compared
  for (const ClockOffset& clock : result.clocks) corrections.push_back(clockCorrection(clock));
  for (CollectiveInstance& instance : result.instances) measure(instance, corrections);
  matching.finish();
  return result;
}

}  // namespace plumb
