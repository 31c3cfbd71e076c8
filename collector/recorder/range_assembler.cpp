// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/range_assembler.h"

#include <algorithm>

namespace plumb::recorder {

std::optional<CompletedRange> RangeAssembler::begin(const RangeBeginRecord& record, int64_t timeNs, int64_t id) {
  CompletedRange range;
  range.id = id;
  range.startNs = timeNs;
  range.domain = record.domain;
  range.name = record.name;
  range.category = record.category;
  range.key = record.range_id;
  range.kind = record.kind;
  range.colorArgb = record.color_argb;
  range.tid = range.endTid = record.header.tid;
  const auto around = m_stacks.find(range.tid);
  if (around != m_stacks.end() && !around->second.empty()) range.parentId = around->second.back().id;

  if (record.kind == RangeKind::kMark) {
    range.endNs = timeNs;
    return range;
  }
  if (m_openPushes + m_started.size() >= kMaxOpen) {
    ++m_overflows;
    return range;
  }
  if (record.kind == RangeKind::kPushPop) {
    std::vector<CompletedRange>& stack = m_stacks[range.tid];
    range.depth = static_cast<int32_t>(stack.size());
    stack.push_back(range);
    ++m_openPushes;
    return std::nullopt;
  }
  if (const auto early = m_earlyEnds.find(range.key); early != m_earlyEnds.end()) {
    range.endNs = std::max(early->second.timeNs, timeNs);
    range.endTid = early->second.tid;
    m_earlyEnds.erase(early);
    return range;
  }
  const auto [entry, isNew] = m_started.try_emplace(range.key, range);
  if (isNew) return std::nullopt;
  std::swap(entry->second, range);  // the id was used again: the older range was never ended
  return range;
}

std::optional<CompletedRange> RangeAssembler::end(const RangeEndRecord& record, int64_t timeNs) {
  if (record.kind == RangeKind::kPushPop) return pop(record, timeNs);
  const auto started = m_started.find(record.range_id);
  if (started == m_started.end()) {
    // Its begin may come from another thread's ring in a moment.
    if (m_earlyEnds.size() >= kMaxOpen ||
        !m_earlyEnds.try_emplace(record.range_id, EarlyEnd{timeNs, record.header.tid}).second) {
      ++m_unmatchedEnds;
    }
    return std::nullopt;
  }
  CompletedRange range = started->second;
  m_started.erase(started);
  range.endNs = std::max(timeNs, range.startNs);
  range.endTid = record.header.tid;
  return range;
}

std::optional<CompletedRange> RangeAssembler::pop(const RangeEndRecord& record, int64_t timeNs) {
  const auto found = m_stacks.find(record.header.tid);
  if (found == m_stacks.end()) {
    ++(record.range_id != 0 ? m_lostBegins : m_unmatchedEnds);
    return std::nullopt;
  }
  std::vector<CompletedRange>& stack = found->second;
  const auto innermost = std::find_if(stack.rbegin(), stack.rend(),
                                      [&](const CompletedRange& range) { return range.domain == record.domain; });
  if (innermost == stack.rend()) {
    ++(record.range_id != 0 ? m_lostBegins : m_unmatchedEnds);
    return std::nullopt;
  }
  if (record.range_id != 0 && innermost->key != 0 && innermost->key != record.range_id) {
    ++m_lostBegins;  // what it closes was never seen; the range found lies around that
    return std::nullopt;
  }
  CompletedRange range = *innermost;
  stack.erase(std::next(innermost).base());
  --m_openPushes;
  if (stack.empty() && m_stacks.size() > kMaxIdleStacks) m_stacks.erase(found);
  range.endNs = std::max(timeNs, range.startNs);
  return range;
}

std::vector<CompletedRange> RangeAssembler::abandonBefore(const RangeBeginRecord& record) {
  if (record.kind != RangeKind::kPushPop || record.range_id == 0) return {};
  return abandon(record.header.tid, record.domain, record.range_id);
}

std::vector<CompletedRange> RangeAssembler::abandonBefore(const RangeEndRecord& record) {
  if (record.kind != RangeKind::kPushPop || record.range_id == 0) return {};
  return abandon(record.header.tid, record.domain, record.range_id + 1);
}

std::vector<CompletedRange> RangeAssembler::abandon(uint32_t tid, StringId domain, uint64_t firstLevel) {
  std::vector<CompletedRange> gone;
  const auto found = m_stacks.find(tid);
  if (found == m_stacks.end()) return gone;
  std::vector<CompletedRange>& stack = found->second;
  // Levels grow along the stack: nearly always there is nothing to do, and the innermost range says so.
  for (auto range = stack.rbegin(); range != stack.rend();) {
    if (range->domain != domain) {
      ++range;
      continue;
    }
    if (range->key < firstLevel) break;
    gone.push_back(*range);
    range = std::make_reverse_iterator(stack.erase(std::next(range).base()));
  }
  m_openPushes -= gone.size();
  m_lostEnds += gone.size();
  return gone;
}

std::vector<CompletedRange> RangeAssembler::finish() {
  std::vector<CompletedRange> open;
  for (auto& [tid, stack] : m_stacks) open.insert(open.end(), stack.begin(), stack.end());
  for (auto& [key, range] : m_started) open.push_back(range);
  std::sort(open.begin(), open.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  m_unmatchedEnds += m_earlyEnds.size();
  m_stacks.clear();
  m_started.clear();
  m_earlyEnds.clear();
  m_openPushes = 0;
  return open;
}

}  // namespace plumb::recorder
