// SPDX-License-Identifier: Apache-2.0
#include "gui/state/view_state.h"

#include <algorithm>
#include <utility>

namespace plumb::gui {

void ViewState::reset(TimeSpan limits, TimeSpan initial) {
  m_limits = limits;
  m_span = clamped(initial, limits);
  m_past.clear();
  m_future.clear();
  m_selection.reset();
  m_marked.clear();
  m_measured.reset();
  m_filter = {};
  m_search.clear();
  m_process = 0;
  emit searchChanged();
  emit processChanged();
  emit filterChanged();
  emit selectionChanged();
  emit measuredChanged();
  emit spanChanged();
}

void ViewState::setLimits(TimeSpan limits) {
  if (limits == m_limits) return;
  const bool all = m_span == m_limits;
  m_limits = limits;
  m_span = clamped(all ? limits : m_span, limits);
  emit spanChanged();
}

void ViewState::setSpan(TimeSpan span, History history) {
  const TimeSpan next = clamped(span, m_limits);
  if (next == m_span) return;
  if (history == History::kNew || m_past.empty()) {
    m_past.push_back(m_span);
    if (m_past.size() > kHistoryLimit) m_past.erase(m_past.begin());
  }
  m_future.clear();
  m_span = next;
  emit spanChanged();
}

void ViewState::undo() {
  if (m_past.empty()) return;
  m_future.push_back(m_span);
  m_span = m_past.back();
  m_past.pop_back();
  emit spanChanged();
}

void ViewState::redo() {
  if (m_future.empty()) return;
  m_past.push_back(m_span);
  m_span = m_future.back();
  m_future.pop_back();
  emit spanChanged();
}

void ViewState::select(std::optional<timeline::SliceRef> slice) {
  if (slice == m_selection) return;
  // Whoever selects something else has left the finding.
  if (!slice || std::ranges::find(m_marked, *slice) == m_marked.end()) m_marked.clear();
  m_selection = slice;
  emit selectionChanged();
}

void ViewState::show(std::optional<TimeSpan> span, std::vector<timeline::SliceRef> events) {
  m_marked = std::move(events);
  m_selection = m_marked.empty() ? std::nullopt : std::optional(m_marked.front());
  emit selectionChanged();
  if (span) {
    measure(span);
    const double margin = std::max(span->length() * 0.1, kShortestSpanNs);
    setSpan({span->startNs - margin, span->endNs + margin});
  }
  emit shown();
}

void ViewState::measure(std::optional<TimeSpan> span) {
  if (span == m_measured) return;
  m_measured = span;
  emit measuredChanged();
}

void ViewState::setSearch(const QString& text) {
  if (text == m_search) return;
  m_search = text;
  emit searchChanged();
}

void ViewState::setProcess(int process) {
  if (process == m_process) return;
  m_process = process;
  emit processChanged();
}

void ViewState::setFilter(const Filter& filter) {
  if (filter == m_filter) return;
  m_filter = filter;
  emit filterChanged();
}

}  // namespace plumb::gui
