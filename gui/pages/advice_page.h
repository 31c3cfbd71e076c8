// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "analyzer/advice/advice.h"
#include "gui/async/job.h"
#include "gui/async/trace_data.h"
#include "gui/pages/table_section.h"
#include "gui/state/view_state.h"

class QCheckBox;
class QComboBox;
class QHBoxLayout;
class QLabel;
class QPushButton;
class QSpinBox;
class QTextBrowser;
class QToolButton;

namespace plumb::gui {

// What to change in the run: the rules' findings, the largest gain first. The rules are applied on a worker thread when
// the page is first looked at, and again when what is asked of them changes.
class AdvicePage : public QWidget {
  Q_OBJECT

 public:
  explicit AdvicePage(ViewState& state, QWidget* parent = nullptr);
  void setData(const std::shared_ptr<const TraceData>& trace);

  // Of the row that is chosen, by the commands of the window; nothing happens without one.
  void showInTimeline();
  void copyAsText();
  void copyAsMarkdown();

  [[nodiscard]] const std::optional<Advice>& advice() const { return m_advice; }
  [[nodiscard]] TableSection& findings() { return *m_table; }
  [[nodiscard]] QTextBrowser& details() { return *m_details; }
  [[nodiscard]] QComboBox& rankBox() { return *m_rankBox; }
  [[nodiscard]] QSpinBox& stepBox() { return *m_stepBox; }
  [[nodiscard]] QCheckBox& onlyVisible() { return *m_onlyVisible; }
  [[nodiscard]] QToolButton& otherRulesButton() { return *m_othersButton; }
  [[nodiscard]] QTextBrowser& otherRules() { return *m_others; }
  // The finding of the row that is chosen; null: none is.
  [[nodiscard]] const Finding* chosen() const;
  void choose(size_t row);

 signals:
  // The rules have been applied, or could not be.
  void ready();

 protected:
  void showEvent(QShowEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;

 private:
  [[nodiscard]] QHBoxLayout* makeBar();
  [[nodiscard]] QHBoxLayout* makeButtons();
  void fillFilters();
  void readFilters();
  [[nodiscard]] Filter filter() const;
  void nameSpan();
  void invalidate();
  void compute();
  void giveFocusToTable();
  void present(Result<Advice> result);
  void fillTable();
  void showDetails();
  void showEvents(std::optional<size_t> only);

  ViewState& m_state;
  JobRunner m_jobs;
  std::optional<TimeSpan> m_onlySpan;  // what the rules are limited to
  std::shared_ptr<const TraceData> m_data;
  std::optional<Advice> m_advice;
  std::vector<const Finding*> m_rows;                       // of m_advice, as in the table
  std::vector<std::optional<timeline::SliceRef>> m_events;  // of the chosen finding
  bool m_isWanted = false;                                  // to be computed as soon as somebody looks
  QComboBox* m_rankBox;
  QSpinBox* m_stepBox;
  QCheckBox* m_onlyVisible;
  QLabel* m_scope;
  TableSection* m_table;
  QTextBrowser* m_details;
  QPushButton* m_show;
  QPushButton* m_copy;
  QPushButton* m_copyMarkdown;
  QWidget* m_chosenPart;
  QToolButton* m_othersButton;
  QTextBrowser* m_others;
};

}  // namespace plumb::gui
