// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/fusion_chains.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "analyzer/analyses/roofline_work.h"

namespace plumb {
namespace {

constexpr double kMemoryBound = 0.6;  // of the roof, as verdictOf()

// Kernels of one work that follow one another.
struct Link {
  size_t work;
  double read, written;
  Duration duration;
  TimePoint start, end;
  int64_t firstKernel, lastKernel, kernelCount;
};

class Finder {
 public:
  Finder(Trace& trace, const CollectedWork& collected, const DeviceRoofs& roofs)
      : m_trace(trace), m_collected(collected), m_roofs(roofs) {}

  std::vector<FusionChains> find(std::vector<WorkKernel> kernels) {
    std::ranges::sort(kernels, {}, [](const WorkKernel& k) { return std::tuple(k.stream, k.start, k.id); });
    for (size_t i = 0; i < kernels.size();) {
      size_t end = i + 1;
      while (end < kernels.size() && kernels[end].stream == kernels[i].stream && kernels[end].work == kernels[i].work) {
        ++end;
      }
      if (i > 0 && kernels[i].stream != kernels[i - 1].stream) finishChain();
      add(std::span(kernels).subspan(i, end - i));
      i = end;
    }
    finishChain();
    std::vector<FusionChains> result;
    for (auto& [key, chains] : m_found) result.push_back(std::move(chains));
    std::ranges::stable_sort(result, {}, [](const FusionChains& c) {
      return std::tuple(!c.rank, c.rank.value_or(0), c.process, c.device, -c.saved.ns());
    });
    return result;
  }

 private:
  void add(std::span<const WorkKernel> kernels) {
    const std::optional<Link> link = linkOf(kernels);
    if (!link) return finishChain();
    if (!m_chain.empty() && !mayRead(*link, m_chain.back())) finishChain();
    m_chain.push_back(*link);
  }

  // As far as sizes can tell: what was written is all or one of up to four tensors that are read.
  static bool mayRead(const Link& reader, const Link& writer) {
    constexpr double kMostTensors = 4;
    return writer.written <= reader.read && writer.written * kMostTensors >= reader.read;
  }

  // None: what they write is not known, or nothing tells that they only move memory.
  std::optional<Link> linkOf(std::span<const WorkKernel> kernels) {
    const WorkKernel &first = kernels.front(), &last = kernels.back();
    if (first.work == CollectedWork::kNoWork) return std::nullopt;
    const Work& work = m_collected.works[first.work];
    // All of the work must be here, for its bytes to be those of these kernels.
    const bool isWhole = work.kernelCount == static_cast<int64_t>(kernels.size()) && !work.hasUntimed;
    const double written = work.source == WorkSource::Declared ? work.bytes / 2 : work.written;
    const double roof = memoryRoof(work.process, first.device), seconds = work.duration.seconds();
    if (!isWhole || written <= 0 || roof <= 0 || seconds <= 0) return std::nullopt;
    const double share = work.bytes / seconds / roof;
    const double least = work.source == WorkSource::Declared ? kMemoryBound : 0;
    if (share <= least || share > 1) return std::nullopt;
    return Link{first.work,      work.bytes - written,       written,  work.duration,
                first.start,     last.start + last.duration, first.id, last.id,
                work.kernelCount};
  }

  double memoryRoof(ProcessId process, DeviceId device) {
    const auto [known, isNew] = m_memory.try_emplace({process, device}, 0);
    if (isNew) {
      const std::vector<Roof> roofs = m_roofs.of(m_trace, process, device);
      if (const Roof* memory = bestRoof(roofs, "memory")) known->second = memory->perSecond;
    }
    return known->second;
  }

  void finishChain() {
    if (m_chain.size() > 1) keep();
    m_chain.clear();
  }

  [[nodiscard]] bool isDeclared(const Link& link) const {
    return m_collected.works[link.work].source == WorkSource::Declared;
  }

  std::string operationsOfChain() {
    std::string text;
    for (size_t i = 0; i < m_chain.size();) {
      const StringId operation = m_collected.works[m_chain[i].work].operation;
      size_t count = 1;
      while (i + count < m_chain.size() && m_collected.works[m_chain[i + count].work].operation == operation) ++count;
      constexpr size_t kMany = 3;
      const size_t times = count < kMany ? count : 1;
      for (size_t n = 0; n < times; ++n)
        text += fmt::format("{}{}", text.empty() ? "" : " + ", m_trace.text(operation));
      if (count >= kMany) text += " repeatedly";
      i += count;
    }
    return text;
  }

  // Written by one and read by the next.
  [[nodiscard]] double betweenBytes() const {
    double bytes = 0;
    bool isPaired = false;
    for (size_t i = 0; i + 1 < m_chain.size(); ++i) {
      isPaired = !isPaired || !(isDeclared(m_chain[i]) || isDeclared(m_chain[i + 1]));
      if (isPaired) bytes += 2 * m_chain[i].written;
    }
    return bytes;
  }

  void keep() {
    std::string operations = operationsOfChain();
    const double between = betweenBytes();
    double bytes = 0;
    Duration duration;
    int64_t kernelCount = 0;
    for (const Link& link : m_chain) {
      bytes += link.read + link.written;
      duration += link.duration;
      kernelCount += link.kernelCount;
    }
    const Work& work = m_collected.works[m_chain.front().work];
    FusionChains& chains = m_found[{work.process, work.device, operations}];
    if (chains.count++ == 0) {
      chains.process = work.process;
      chains.device = work.device;
      chains.operations = std::move(operations);
      if (const Process* process = m_trace.process(work.process)) chains.rank = process->rank;
    }
    chains.kernelCount += kernelCount;
    chains.duration += duration;
    chains.bytes += bytes;
    chains.betweenBytes += between;
    chains.saved += Duration(static_cast<int64_t>(static_cast<double>(duration.ns()) * between / bytes));
    const Interval time{m_chain.front().start, m_chain.back().end};
    if (chains.count > 1 && time.length() <= chains.longest.length()) return;
    chains.longest = time;
    chains.firstKernel = m_chain.front().firstKernel;
    chains.lastKernel = m_chain.back().lastKernel;
  }

  Trace& m_trace;
  const CollectedWork& m_collected;
  const DeviceRoofs& m_roofs;
  std::map<std::pair<ProcessId, DeviceId>, double> m_memory;
  std::map<std::tuple<ProcessId, DeviceId, std::string>, FusionChains> m_found;
  std::vector<Link> m_chain;
};

}  // namespace

Result<std::vector<FusionChains>> findFusionChains(Trace& trace, const Filter& filter) {
  auto collected = collectWork(trace, filter, CollectKernels::Yes);
  if (!collected.ok()) return collected.error();
  const auto roofs = DeviceRoofs::load(trace);
  if (!roofs.ok()) return roofs.error();
  std::vector<WorkKernel> kernels = std::move(collected.value().kernels);
  return Finder(trace, collected.value(), roofs.value()).find(std::move(kernels));
}

}  // namespace plumb
