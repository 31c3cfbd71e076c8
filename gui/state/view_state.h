// SPDX-License-Identifier: Apache-2.0
// The one owner of what the user looks at: visible time span with its history, selection, measured span, search text,
// filter. Pages meet only here. Lives on the window's thread.
#pragma once
#include <QObject>
#include <QString>
#include <optional>
#include <vector>

#include "analyzer/analyses/timeline_data.h"
#include "analyzer/trace/filter.h"
#include "gui/timeline/time_scale.h"

namespace plumb::gui {

class ViewState : public QObject {
  Q_OBJECT

 public:
  // kContinue changes the latest entry of the history (one gesture, one entry); kNew adds one.
  enum class History { kNew, kContinue };

  explicit ViewState(QObject* parent = nullptr) : QObject(parent) {}

  // Forgets everything and shows initial within limits.
  void reset(TimeSpan limits, TimeSpan initial);

  // More is known about the same trace. Who looked at everything does so on.
  void setLimits(TimeSpan limits);
  [[nodiscard]] const TimeSpan& limits() const { return m_limits; }
  [[nodiscard]] const TimeSpan& span() const { return m_span; }
  void setSpan(TimeSpan span, History history = History::kNew);
  void showAll() { setSpan(m_limits); }
  void undo();
  void redo();
  [[nodiscard]] bool canUndo() const { return !m_past.empty(); }
  [[nodiscard]] bool canRedo() const { return !m_future.empty(); }

  [[nodiscard]] const std::optional<timeline::SliceRef>& selection() const { return m_selection; }
  void select(std::optional<timeline::SliceRef> slice);

  // The events that a finding is about, beside the selected one.
  [[nodiscard]] const std::vector<timeline::SliceRef>& marked() const { return m_marked; }

  // Shows something on the timeline, wherever the user is: selects the first of the events, marks all of them, and
  // makes the span the visible and the measured one. Without a span the events alone, without events the span alone.
  void show(std::optional<TimeSpan> span, std::vector<timeline::SliceRef> events);

  [[nodiscard]] const std::optional<TimeSpan>& measured() const { return m_measured; }
  void measure(std::optional<TimeSpan> span);

  [[nodiscard]] const QString& search() const { return m_search; }
  void setSearch(const QString& text);

  // The process that per-rank pages show: its position in the timeline's processes.
  [[nodiscard]] int process() const { return m_process; }
  void setProcess(int process);

  // What pages that ask the trace anew are limited to.
  [[nodiscard]] const Filter& filter() const { return m_filter; }
  void setFilter(const Filter& filter);

 signals:
  void spanChanged();
  void selectionChanged();
  void measuredChanged();
  void searchChanged();
  void processChanged();
  void filterChanged();
  // By show(), after all else has changed.
  void shown();

 private:
  static constexpr size_t kHistoryLimit = 200;

  TimeSpan m_limits{0, 1};
  TimeSpan m_span{0, 1};
  std::vector<TimeSpan> m_past;
  std::vector<TimeSpan> m_future;
  std::optional<timeline::SliceRef> m_selection;
  std::vector<timeline::SliceRef> m_marked;
  std::optional<TimeSpan> m_measured;
  Filter m_filter;
  QString m_search;
  int m_process = 0;
};

}  // namespace plumb::gui
