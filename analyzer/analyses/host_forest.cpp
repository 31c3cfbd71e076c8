// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/host_forest.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

bool comesBefore(const HostNode& a, const HostNode& b) {
  return std::tie(a.track, a.time.start, a.depth, b.time.end) < std::tie(b.track, b.time.start, b.depth, a.time.end);
}

bool holds(Interval outer, Interval inner) { return outer.start <= inner.start && inner.end <= outer.end; }

}  // namespace

HostForest::HostForest(std::vector<HostNode> nodes) : m_nodes(std::move(nodes)) {
  if (!std::is_sorted(m_nodes.begin(), m_nodes.end(), comesBefore)) {
    std::stable_sort(m_nodes.begin(), m_nodes.end(), comesBefore);
  }
  for (size_t begin = 0; begin < m_nodes.size();) {
    size_t end = begin;
    while (end < m_nodes.size() && m_nodes[end].track == m_nodes[begin].track) ++end;
    nest(begin, end);
    begin = end;
  }
}

void HostForest::nest(size_t begin, size_t end) {
  std::vector<Change>& changes = m_innermost[m_nodes[begin].track];
  std::vector<size_t> open;
  std::vector<TimePoint> coveredTo(end - begin);  // by node: how far its children reach
  const auto change = [&](TimePoint time, int64_t node) {
    if (!changes.empty() && changes.back().time == time) {
      changes.back().node = static_cast<int32_t>(node);
    } else {
      changes.push_back({time, static_cast<int32_t>(node)});
    }
  };
  const auto closeUntil = [&](TimePoint time) {
    while (!open.empty() && m_nodes[open.back()].time.end <= time) {
      const TimePoint closed = m_nodes[open.back()].time.end;
      open.pop_back();
      change(closed, open.empty() ? -1 : static_cast<int64_t>(open.back()));
    }
  };
  for (size_t i = begin; i < end; ++i) {
    HostNode& node = m_nodes[i];
    closeUntil(node.time.start);
    while (!open.empty() && m_nodes[open.back()].isOpen && m_nodes[open.back()].depth >= node.depth) {
      m_nodes[open.back()].time.end = node.time.start;
      closeUntil(node.time.start);
    }
    if (node.isOpen && !open.empty()) node.time.end = m_nodes[open.back()].time.end;
    // What it sticks out of is over for this purpose: nothing later can be inside both.
    while (!open.empty() && m_nodes[open.back()].time.end < node.time.end) {
      open.pop_back();
    }
    if (!open.empty()) {
      HostNode& parent = m_nodes[open.back()];
      node.parent = static_cast<int32_t>(open.back());
      TimePoint& covered = coveredTo[open.back() - begin];
      if (parent.covered == Duration()) covered = std::max(covered, parent.time.start);
      const TimePoint from = std::max(covered, node.time.start);
      if (from < node.time.end) {
        parent.covered += node.time.end - from;
        covered = node.time.end;
      }
    }
    if (node.time.empty()) continue;
    open.push_back(i);
    change(node.time.start, static_cast<int64_t>(i));
  }
  closeUntil(TimePoint(INT64_MAX));
}

std::optional<size_t> HostForest::innermost(int64_t track, Interval call) const {
  const auto found = m_innermost.find(track);
  if (found == m_innermost.end()) return std::nullopt;
  const std::vector<Change>& changes = found->second;
  const auto after = std::partition_point(changes.begin(), changes.end(),
                                          [&](const Change& change) { return change.time <= call.start; });
  if (after == changes.begin()) return std::nullopt;
  for (int32_t node = std::prev(after)->node; node >= 0; node = m_nodes[static_cast<size_t>(node)].parent) {
    if (holds(m_nodes[static_cast<size_t>(node)].time, call)) return static_cast<size_t>(node);
  }
  return std::nullopt;
}

std::vector<Projection> HostForest::project(std::span<const Projected> work, bool inclusive) const {
  std::vector<Projection> result(m_nodes.size());
  std::vector<std::pair<size_t, Interval>> own;  // (node, GPU time)
  own.reserve(work.size());
  for (const Projected& item : work) {
    if (const auto node = innermost(item.track, item.call)) own.emplace_back(*node, item.gpu);
  }
  std::sort(own.begin(), own.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.start, a.second.end) < std::tie(b.first, b.second.start, b.second.end);
  });
  // From the last node to the first: what is inside a node is done before it, and hands over its busy times.
  std::unordered_map<size_t, std::vector<Interval>> handedOver;
  size_t rest = own.size();
  for (size_t i = m_nodes.size(); i-- > 0;) {
    Projection& mine = result[i];
    std::vector<Interval> busy;
    if (const auto inside = handedOver.find(i); inside != handedOver.end()) {
      busy = std::move(inside->second);
      handedOver.erase(inside);
    }
    const auto add = [&mine](Interval hull, int64_t count, Duration total) {
      mine.hull =
          mine.count == 0 ? hull : Interval{std::min(mine.hull.start, hull.start), std::max(mine.hull.end, hull.end)};
      mine.count += count;
      mine.total += total;
    };
    while (rest > 0 && own[rest - 1].first == i) {
      --rest;
      add(own[rest].second, 1, own[rest].second.length());
      busy.push_back(own[rest].second);
    }
    IntervalSet set = IntervalSet::unionOf(std::move(busy));
    mine.busy = set.length();
    const int32_t parent = m_nodes[i].parent;
    if (parent < 0 || !inclusive || set.empty()) continue;
    std::vector<Interval>& outer = handedOver[static_cast<size_t>(parent)];
    outer.insert(outer.end(), set.parts().begin(), set.parts().end());
  }
  if (!inclusive) return result;
  for (size_t i = m_nodes.size(); i-- > 0;) {
    if (m_nodes[i].parent < 0 || result[i].count == 0) continue;
    Projection& outer = result[static_cast<size_t>(m_nodes[i].parent)];
    const Projection& inner = result[i];
    outer.hull = outer.count == 0
                     ? inner.hull
                     : Interval{std::min(outer.hull.start, inner.hull.start), std::max(outer.hull.end, inner.hull.end)};
    outer.count += inner.count;
    outer.total += inner.total;
  }
  return result;
}

std::vector<std::vector<HostNode>> splitIntoNested(std::vector<HostNode> nodes) {
  std::stable_sort(nodes.begin(), nodes.end(), comesBefore);
  std::vector<std::vector<HostNode>> groups;
  std::vector<std::vector<TimePoint>> open;  // by group: the ends of the nodes that are not over, innermost last
  int64_t track = 0;
  for (const HostNode& node : nodes) {
    if (node.track != track) open.assign(groups.size(), {});
    track = node.track;
    size_t group = 0;
    for (; group < groups.size(); ++group) {
      while (!open[group].empty() && open[group].back() <= node.time.start) open[group].pop_back();
      if (open[group].empty() || node.time.end <= open[group].back()) break;
    }
    if (group == groups.size()) {
      groups.emplace_back();
      open.emplace_back();
    }
    groups[group].push_back(node);
    open[group].push_back(node.time.end);
  }
  return groups;
}

}  // namespace plumb
