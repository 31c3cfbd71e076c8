// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/collectives.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

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
  ByCause<const std::vector<size_t>*> byCorrelation;
  auto links = trace.query("SELECT process_id, external_id, correlation FROM main.correlation_link");
  if (!links.ok()) return links.error();
  while (links.value().next()) {
    const auto cause = byCause.find({links.value().integer(0), links.value().integer(1)});
    if (cause != byCause.end()) byCorrelation[{links.value().integer(0), links.value().integer(2)}] = &cause->second;
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
      for (const size_t index : *found->second) {
        Record& record = records[index];
        record.sharesKernel = found->second->size() > 1;
        if (isKernel && !record.member.kernel) record.member.kernel = row.id<KernelId>(5);
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

// Arrival, wait, transfer and skew, when the file has a kernel of every rank.
void measure(CollectiveInstance& instance) {
  auto& members = instance.members;
  std::sort(members.begin(), members.end(), [](const CollectiveMember& a, const CollectiveMember& b) {
    return std::make_tuple(!a.rank, a.rank.value_or(0), a.process) <
           std::make_tuple(!b.rank, b.rank.value_or(0), b.process);
  });
  const bool complete = static_cast<int64_t>(members.size()) == instance.rankCount &&
                        std::all_of(members.begin(), members.end(), [](const auto& m) { return m.device.has_value(); });
  if (!complete || members.empty()) return;
  TimePoint first = members[0].device->start, lastEnd = members[0].device->end;
  for (size_t i = 0; i < members.size(); ++i) {
    first = std::min(first, members[i].device->start);
    lastEnd = std::max(lastEnd, members[i].device->end);
    if (members[i].device->start > members[instance.lastArrival].device->start) instance.lastArrival = i;
  }
  const TimePoint last = members[instance.lastArrival].device->start;
  for (CollectiveMember& member : members) member.wait = last - member.device->start;
  instance.transfer = lastEnd - last;
  instance.skew = last - first;
}

std::optional<double> perSecond(double bytes, Duration time) {
  if (time.ns() <= 0) return std::nullopt;
  return bytes / time.seconds();
}

struct GroupSums {
  CollectiveGroup group;
  std::vector<Duration> kernelTimes;
  double transferBytes = 0;
};

CollectiveGroup finish(GroupSums& sums) {
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

}  // namespace

BusFactor busFactorOf(std::string_view operation, int64_t n) {
  const double ranks = static_cast<double>(std::max<int64_t>(n, 1));
  const double others = (ranks - 1) / ranks;
  if (operation == "AllReduce") return {2 * others, "2(n-1)/n"};
  if (operation == "AllGather" || operation == "ReduceScatter" || operation == "AlltoAll" || operation == "AllToAll") {
    return {others, "(n-1)/n"};
  }
  return {1, "1"};
}

Result<CollectiveAnalysis> analyzeCollectives(Trace& trace) {
  ByCause<std::vector<size_t>> byCause;
  auto loaded = loadRecords(trace, byCause);
  if (!loaded.ok()) return loaded.error();
  std::vector<Record>& records = loaded.value();
  if (const Status joined = joinKernels(trace, byCause, records); !joined.ok()) return joined.error();

  CollectiveAnalysis result;
  std::map<GroupKey, GroupSums> groups;
  std::map<InstanceKey, size_t> instanceOf;
  std::vector<GroupSums*> groupOfInstance;
  std::vector<bool> sharesKernel;
  for (const Record& record : records) {
    GroupSums& sums = groups[{record.hash.value_or(0), record.operation, record.datatype, record.bytes}];
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

    if (!record.hash || record.sequence < 0) {
      ++result.unmatched;
      continue;
    }
    const auto [found, isNew] =
        instanceOf.try_emplace({*record.hash, record.operation, record.sequence}, result.instances.size());
    if (isNew) {
      CollectiveInstance instance;
      instance.communicatorHash = *record.hash;
      instance.operation = record.operation;
      instance.sequence = record.sequence;
      instance.rankCount = record.rankCount;
      instance.bytes = record.bytes;
      result.instances.push_back(std::move(instance));
      groupOfInstance.push_back(&sums);
      sharesKernel.push_back(false);
    }
    auto& members = result.instances[found->second].members;
    const bool known =
        std::any_of(members.begin(), members.end(), [&](const auto& m) { return m.process == record.member.process; });
    if (known) {
      ++result.duplicates;
      continue;
    }
    members.push_back(record.member);
    if (record.sharesKernel) sharesKernel[found->second] = true;
  }

  for (size_t i = 0; i < result.instances.size(); ++i) {
    CollectiveInstance& instance = result.instances[i];
    measure(instance);
    GroupSums& sums = *groupOfInstance[i];
    ++sums.group.instanceCount;
    if (!instance.transfer) continue;
    ++sums.group.completeCount;
    for (const CollectiveMember& member : instance.members) sums.group.waitTime += member.wait;
    sums.group.largestSkew = std::max(sums.group.largestSkew, *instance.skew);
    if (sharesKernel[i]) continue;
    sums.group.transferTime += *instance.transfer;
    sums.transferBytes += static_cast<double>(instance.bytes);
  }
  for (auto& [key, sums] : groups) result.groups.push_back(finish(sums));
  std::stable_sort(result.groups.begin(), result.groups.end(),
                   [](const CollectiveGroup& a, const CollectiveGroup& b) { return a.kernelTime > b.kernelTime; });
  const auto arrival = [](const CollectiveInstance& instance) {
    const CollectiveMember& member = instance.members.front();
    return member.device ? member.device->start : member.host.start;
  };
  std::stable_sort(result.instances.begin(), result.instances.end(),
                   [&](const CollectiveInstance& a, const CollectiveInstance& b) { return arrival(a) < arrival(b); });
  return result;
}

}  // namespace plumb
