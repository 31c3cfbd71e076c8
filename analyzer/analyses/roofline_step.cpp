// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/roofline_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/analyses/collectives.h"
#include "analyzer/analyses/communication_matrix.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/roofline_work.h"
#include "analyzer/analyses/steps.h"

namespace plumb {
namespace {

struct NetworkRoof {
  double perSecond = 0;
  std::string source;
};

// The device's; else what the trace itself reached, which is no more than a lower bound of the roof.
Result<std::optional<NetworkRoof>> networkRoofFrom(Trace& trace) {
  auto analysis = analyzeCollectives(trace);
  if (!analysis.ok()) return analysis.error();
  std::optional<NetworkRoof> best;
  for (const CollectiveGroup& group : analysis.value().groups) {
    if (group.transferBusbw && (!best || *group.transferBusbw > best->perSecond)) {
      best = NetworkRoof{*group.transferBusbw, "the fastest collective of this trace"};
    }
  }
  return best;
}

struct RunSize {
  int64_t rankCount = 0, hostCount = 0;  // 0: not told
};
RunSize sizeOf(const Trace& trace) {
  RunSize size;
  std::set<std::string_view> hosts;
  for (const Process& process : trace.processes()) {
    hosts.insert(process.host);
    size.rankCount = std::max(size.rankCount, process.worldSize.value_or(0));
  }
  const auto seen = static_cast<int64_t>(trace.processes().size());
  const auto hostCount = static_cast<int64_t>(hosts.size());
  if (hostCount > 1 || seen >= size.rankCount) size.hostCount = hostCount;
  size.rankCount = std::max(size.rankCount, seen);
  return size;
}

// The step of a process in whose host range a moment lies.
const Step* stepAt(const std::vector<Step>& steps, TimePoint time) {
  const auto after = std::ranges::upper_bound(steps, time, {}, [](const Step& step) { return step.host.start; });
  if (after == steps.begin() || !std::prev(after)->host.contains(time)) return nullptr;
  return &*std::prev(after);
}

// What one device does in a step.
struct DeviceNeeds {
  double bytes = 0;
  std::optional<double> computeSeconds;
};

void raise(std::optional<double>& most, double value) { most = std::max(most.value_or(value), value); }

class Builder {
 public:
  Builder(const Trace& trace, const RankSteps& rank, const DeviceRoofs& roofs, const RunSize& run,
          const std::optional<NetworkRoof>& fallback)
      : m_rank(rank), m_results(rank.steps.size()), m_needs(rank.steps.size()) {
    for (const DeviceId device : rank.devices) m_devices[device].roofs = roofs.of(trace, rank.process, device);
    if (const auto network =
            DeviceRoofs::network(m_devices[rank.devices.front()].roofs, run.rankCount, run.hostCount)) {
      m_network = NetworkRoof{network->perSecond, fmt::format("{}{}", nameOf(network->source),
                                                              network->resource == "network" ? "" : " NVLink")};
    } else {
      m_network = fallback;
    }
  }

  void add(const Work& work) {
    const Step* step = stepAt(m_rank.steps, work.start);
    const auto device = m_devices.find(work.device);
    if (!step || work.kernelCount == 0 || device == m_devices.end()) return;
    StepRoofline& result = resultOf(*step);
    DeviceNeeds& needs = m_needs[indexOf(*step)][work.device];
    needs.bytes += work.bytes;
    result.flops += work.flops;
    result.bytes += work.bytes;
    result.knownTime += work.duration;
    if (work.flops <= 0) return;
    if (const Roof* roof = device->second.roof(work.precision)) {
      needs.computeSeconds = needs.computeSeconds.value_or(0) + work.flops / roof->perSecond;
      m_sources.insert(fmt::format("{}: {}", work.precision, nameOf(roof->source)));
    } else {
      m_sources.insert(fmt::format("{}: none", work.precision));
    }
  }
  void add(const SentBytes& sent) {
    if (const Step* step = stepAt(m_rank.steps, sent.time)) resultOf(*step).sentBytes += sent.bytes;
  }

  void finish(const EventFilter& kept, std::optional<int64_t> only, std::vector<StepRoofline>& all) {
    for (const auto& [id, device] : m_devices) {
      const Roof* memory = device.roof("memory");
      m_sources.insert(fmt::format("memory: {}", memory ? nameOf(memory->source) : "none"));
    }
    m_sources.insert(fmt::format("network: {}", m_network ? m_network->source : "none"));
    for (size_t i = 0; i < m_results.size(); ++i) {
      const Step& step = m_rank.steps[i];
      if (!step.gpu || (only && step.number != *only)) continue;
      if (!kept.keepsOnHost(m_rank.process, step.host.start)) continue;
      StepRoofline& result = m_results[i];
      result.process = m_rank.process;
      result.rank = m_rank.rank;
      result.step = step.number;
      result.span = step.gpu->span;
      if (result.bytes > 0) result.memoryIntensity = result.flops / result.bytes;
      if (result.sentBytes > 0) result.networkIntensity = result.flops / result.sentBytes;
      for (const auto& [device, needs] : m_needs[i]) {
        if (needs.computeSeconds) raise(result.computeSeconds, *needs.computeSeconds);
        const Roof* memory = m_devices[device].roof("memory");
        if (memory && needs.bytes > 0) raise(result.memorySeconds, needs.bytes / memory->perSecond);
      }
      if (m_network && result.sentBytes > 0) result.networkSeconds = result.sentBytes / m_network->perSecond;
      place(result);
      result.roofs = fmt::format("{}", fmt::join(m_sources, ", "));
      all.push_back(std::move(result));
    }
  }

 private:
  size_t indexOf(const Step& step) const { return static_cast<size_t>(&step - m_rank.steps.data()); }
  StepRoofline& resultOf(const Step& step) { return m_results[indexOf(step)]; }

  static void place(StepRoofline& result) {
    double most = 0;
    for (const auto& [name, seconds] : {std::pair("compute", result.computeSeconds),
                                        {"memory", result.memorySeconds},
                                        {"network", result.networkSeconds}}) {
      if (!seconds || *seconds <= most) continue;
      most = *seconds;
      result.bound = name;
    }
    if (most > 0 && result.span.ns() > 0) result.boundShare = most / result.span.seconds();
  }

  const RankSteps& m_rank;
  std::map<DeviceId, DeviceRoofline> m_devices;  // for their choice of roofs
  std::optional<NetworkRoof> m_network;
  std::vector<StepRoofline> m_results;
  std::vector<std::map<DeviceId, DeviceNeeds>> m_needs;  // by step
  std::set<std::string> m_sources;
};

}  // namespace

Result<std::vector<StepRoofline>> stepRooflines(Trace& trace, const Filter& filter) {
  auto ranks = findSteps(trace);
  if (!ranks.ok()) return ranks.error();
  std::vector<StepRoofline> result;
  if (ranks.value().empty()) return result;
  Filter times = filter;
  times.step.reset();
  auto kept = EventFilter::load(trace, times);
  if (!kept.ok()) return kept.error();
  auto collected = collectWork(trace, {});
  if (!collected.ok()) return collected.error();
  auto roofs = DeviceRoofs::load(trace);
  if (!roofs.ok()) return roofs.error();
  auto sent = sentBytes(trace, filter.rank);
  if (!sent.ok()) return sent.error();
  std::optional<NetworkRoof> fallback;
  if (!sent.value().empty()) {
    auto found = networkRoofFrom(trace);
    if (!found.ok()) return found.error();
    fallback = std::move(found).value();
  }
  std::map<ProcessId, Builder> builders;
  for (const RankSteps& rank : ranks.value()) {
    if (rank.devices.empty() || (filter.rank && rank.rank != filter.rank)) continue;
    builders.try_emplace(rank.process, trace, rank, roofs.value(), sizeOf(trace), fallback);
  }
  for (const Work& work : collected.value().works) {
    if (const auto builder = builders.find(work.process); builder != builders.end()) builder->second.add(work);
  }
  for (const SentBytes& one : sent.value()) {
    if (const auto builder = builders.find(one.process); builder != builders.end()) builder->second.add(one);
  }
  for (const RankSteps& rank : ranks.value()) {
    if (const auto builder = builders.find(rank.process); builder != builders.end()) {
      builder->second.finish(kept.value(), filter.step, result);
    }
  }
  return result;
}

}  // namespace plumb
