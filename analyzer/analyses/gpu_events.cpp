// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/gpu_events.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/trace/pair_hash.h"

namespace plumb {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

struct PairHash {
  size_t operator()(const std::pair<int64_t, int64_t>& pair) const { return pairHash(pair.first, pair.second); }
};

}  // namespace

std::string_view noteOf(CommunicationSource source) {
  return source == CommunicationSource::Names ? " (communication: by name)" : "";
}

std::span<const std::string_view> communicationNameParts() {
  static constexpr std::string_view kParts[] = {"nccl",
                                                "rccl",
                                                "hccl",
                                                "oneccl",
                                                "msccl",
                                                "nvshmem",
                                                "deep_ep",
                                                "deepep",
                                                "multimem_all_",         // torch's symmetric memory
                                                "_shot_all_reduce",      // likewise
                                                "cross_device_reduce"};  // vLLM
  return kParts;
}

bool isCommunicationName(std::string_view kernelName) {
  std::string name(kernelName);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  return std::ranges::any_of(communicationNameParts(),
                             [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

Result<CommunicationClassifier> CommunicationClassifier::load(Trace& trace) {
  CommunicationClassifier classifier(trace);
  std::unordered_set<std::pair<int64_t, int64_t>, PairHash> causes;  // (process, external id) of collectives
  auto collectives = trace.query("SELECT process_id, external_id FROM main.collective WHERE external_id IS NOT NULL");
  if (!collectives.ok()) return collectives.error();
  while (collectives.value().next()) causes.emplace(collectives.value().integer(0), collectives.value().integer(1));
  if (const Status status = collectives.value().status(); !status.ok()) return status.error();
  if (causes.empty()) return classifier;

  auto links = trace.query("SELECT process_id, external_id, correlation FROM main.correlation_link");
  if (!links.ok()) return links.error();
  while (links.value().next()) {
    if (causes.count({links.value().integer(0), links.value().integer(1)})) {
      classifier.m_correlations[links.value().id<ProcessId>(0)].insert(links.value().id<Correlation>(2));
    }
  }
  if (const Status status = links.value().status(); !status.ok()) return status.error();

  // The importers' word for processes whose source tells of some collectives only.
  auto incomplete = trace.query(
      "SELECT process_id FROM main.diagnostic WHERE lane = 'import' AND process_id IS NOT NULL"
      " AND code IN ('communication_by_name', 'collectives_not_linked')");
  if (!incomplete.ok()) return incomplete.error();
  while (incomplete.value().next()) classifier.m_incomplete.insert(incomplete.value().id<ProcessId>(0));
  if (const Status status = incomplete.value().status(); !status.ok()) return status.error();
  return classifier;
}

CommunicationSource CommunicationClassifier::source(ProcessId process) const {
  return m_correlations.count(process) && !m_incomplete.count(process) ? CommunicationSource::Records
                                                                       : CommunicationSource::Names;
}

bool CommunicationClassifier::isCommunication(ProcessId process, Correlation correlation) const {
  const auto recorded = m_correlations.find(process);
  return recorded != m_correlations.end() && recorded->second.count(correlation);
}

bool CommunicationClassifier::isCommunication(ProcessId process, Correlation correlation, StringId kernelName) {
  const auto recorded = m_correlations.find(process);
  if (recorded != m_correlations.end()) {
    if (recorded->second.count(correlation)) return true;
    if (!m_incomplete.count(process)) return false;
  }
  const auto known = m_byName.find(kernelName);
  if (known != m_byName.end()) return known->second;
  return m_byName.emplace(kernelName, isCommunicationName(m_trace->text(kernelName))).first->second;
}

GpuEventKind CommunicationClassifier::kindOf(const WorkRow& work) {
  const bool isKernel = work.what == WorkKind::Kernel;
  const bool communicates = isKernel ? isCommunication(work.process, work.correlation, work.name)
                                     : isCommunication(work.process, work.correlation);
  if (communicates) return GpuEventKind::Communication;
  return isKernel ? GpuEventKind::Compute : GpuEventKind::Memory;
}

Status forEachGpuEvent(Trace& trace, CommunicationClassifier& classifier,
                       const std::function<void(const GpuEvent&)>& take) {
  return forEachWork(trace, [&](const WorkRow& work) {
    take({work.process, work.device, work.correlation, classifier.kindOf(work), work.isTimed, work.time});
  });
}

Result<std::vector<GpuActivity>> loadGpuActivity(Trace& trace) { return loadGpuActivity(trace, {}); }

Result<std::vector<GpuActivity>> loadGpuActivity(Trace& trace, const std::function<bool(const GpuEvent&)>& keepsTime) {
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();

  struct Collected {
    GpuActivity activity;
    std::array<std::vector<Interval>, 3> intervals;  // by GpuEventKind
    bool any = false;
  };
  std::map<std::pair<ProcessId, DeviceId>, Collected> devices;
  Collected* current = nullptr;  // of the last event: neighbours in the file are mostly of one device
  const Status read = forEachGpuEvent(trace, classifier.value(), [&](const GpuEvent& event) {
    if (!current || current->activity.process != event.process || current->activity.device != event.device) {
      current = &devices[{event.process, event.device}];
      current->activity.process = event.process;
      current->activity.device = event.device;
    }
    GpuActivity& activity = current->activity;
    ++activity.eventCount;
    if (!event.isTimed) {
      ++activity.untimedEventCount;
      return;
    }
    activity.hull.start = current->any ? std::min(activity.hull.start, event.time.start) : event.time.start;
    activity.hull.end = current->any ? std::max(activity.hull.end, event.time.end) : event.time.end;
    current->any = true;
    if (keepsTime && !keepsTime(event)) return;
    current->intervals[static_cast<size_t>(event.kind)].push_back(event.time);
  });
  if (!read.ok()) return read.error();

  std::vector<GpuActivity> result;
  for (auto& [key, collected] : devices) {
    GpuActivity& activity = collected.activity;
    activity.compute = IntervalSet::unionOf(std::move(collected.intervals[0]));
    activity.communication = IntervalSet::unionOf(std::move(collected.intervals[1]));
    activity.memory = IntervalSet::unionOf(std::move(collected.intervals[2]));
    activity.communicationSource = classifier.value().source(activity.process);
    if (const Process* process = trace.process(activity.process)) activity.rank = process->rank;
    result.push_back(std::move(activity));
  }
  std::stable_sort(result.begin(), result.end(), [](const GpuActivity& a, const GpuActivity& b) {
    return std::make_tuple(!a.rank, a.rank.value_or(0), a.process, a.device) <
           std::make_tuple(!b.rank, b.rank.value_or(0), b.process, b.device);
  });
  return result;
}

}  // namespace plumb
