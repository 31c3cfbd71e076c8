// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/timeline_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSpinBox>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <climits>

#include "gui/pages/absence.h"
#include "gui/pages/clock_text.h"
#include "gui/pages/scenes.h"
#include "gui/state/commands.h"

namespace plumb::gui {
namespace {

// What has to be known to read the timeline; "" when nothing.
QString noteOf(const TraceData& data) {
  QStringList parts{clockNote(data), untimedNote(data), outsideNote(data)};
  parts.removeAll(QString());
  return parts.join(QLatin1Char(' '));
}

}  // namespace

TimelinePage::TimelinePage(ViewState& state, QWidget* parent)
    : QWidget(parent),
      m_state(state),
      m_searchBox(new QLineEdit(this)),
      m_searchLabel(new QLabel(this)),
      m_note(new QLabel(this)),
      m_stepBox(new QSpinBox(this)),
      m_view(new TimelineView(state, this)),
      m_legend(new LegendBar(this)),
      m_details(new DetailsPane(state, this)) {
  m_note->setTextFormat(Qt::PlainText);
  m_note->setWordWrap(true);
  auto* splitter = new QSplitter(Qt::Horizontal, this);
  splitter->addWidget(m_view);
  splitter->addWidget(m_details);
  splitter->setStretchFactor(0, 1);
  splitter->setSizes({1000, 330});
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 0);
  layout->addLayout(makeBar());
  layout->addWidget(m_note);
  layout->addWidget(splitter, 1);
  layout->addWidget(m_legend);

  connect(m_searchBox, &QLineEdit::textChanged, &m_state, &ViewState::setSearch);
  connect(m_searchBox, &QLineEdit::returnPressed, this, [this] { findNext(1); });
  connect(m_stepBox, &QSpinBox::valueChanged, this, [this](int number) { goToStep(number); });
  connect(&m_state, &ViewState::searchChanged, this, &TimelinePage::searchChanged);
  connect(&m_state, &ViewState::spanChanged, this, &TimelinePage::showStep);
  connect(m_details, &DetailsPane::revealRequested, m_view, &TimelineView::reveal);
}

QHBoxLayout* TimelinePage::makeBar() {
  m_searchBox->setPlaceholderText(tr("Search names (Ctrl+F)"));
  m_searchBox->setClearButtonEnabled(true);
  m_searchBox->setMaximumWidth(320);
  m_searchLabel->setTextFormat(Qt::PlainText);
  auto* previous = new QToolButton(this);
  auto* next = new QToolButton(this);
  previous->setArrowType(Qt::LeftArrow);
  next->setArrowType(Qt::RightArrow);
  previous->setToolTip(tr("Previous match (Shift+F3)"));
  next->setToolTip(tr("Next match (F3)"));
  m_stepBox->setPrefix(tr("step "));
  m_stepBox->setAccessibleName(tr("Step"));
  m_stepBox->setKeyboardTracking(false);
  auto* bar = new QHBoxLayout;
  bar->addWidget(m_searchBox);
  bar->addWidget(previous);
  bar->addWidget(next);
  bar->addWidget(m_searchLabel);
  bar->addSpacing(12);
  bar->addWidget(m_stepBox);
  bar->addStretch();
  auto* hint = new QLabel(shortHelp(), this);
  hint->setToolTip(hint->text());
  hint->setMinimumWidth(60);  // the first thing to be cut in a narrow window
  bar->addWidget(hint);
  connect(previous, &QToolButton::clicked, this, [this] { findNext(-1); });
  connect(next, &QToolButton::clicked, this, [this] { findNext(1); });
  return bar;
}

void TimelinePage::setData(std::shared_ptr<const TraceData> trace) {
  const bool isSame = trace && m_data && trace->timeline == m_data->timeline;
  m_data = std::move(trace);
  m_steps = m_data ? stepSpans(*m_data) : std::vector<StepSpan>{};
  showSteps();
  m_note->setText(m_data ? noteOf(*m_data) : QString());
  m_note->setVisible(!m_note->text().isEmpty());
  m_details->setData(m_data);
  if (isSame) return;
  m_view->setEmptyText(m_data ? whyNoTimeline(*m_data) : QString());
  m_view->setTimeline(m_data ? m_data->timeline : nullptr);
  m_legend->setEntries(m_data ? m_data->legend : std::vector<LegendEntry>{});
  searchChanged();
}

void TimelinePage::showSteps() {
  const QSignalBlocker blocker(m_stepBox);
  m_stepBox->setEnabled(!m_steps.empty());
  m_stepBox->setToolTip(m_steps.empty() && m_data ? whyNoSteps(*m_data)
                                                  : tr("Shows this step ([ and ]: its neighbours)"));
  m_stepBox->setSpecialValueText(m_steps.empty() ? tr("no steps") : QString());
  if (m_steps.empty()) return;
  const auto bound = [](int64_t number) { return static_cast<int>(std::clamp<int64_t>(number, INT_MIN, INT_MAX)); };
  m_stepBox->setRange(bound(m_steps.front().number), bound(m_steps.back().number));
  showStep();
}

// The box says which step is in the middle.
void TimelinePage::showStep() {
  const TimeSpan& span = m_state.span();
  const auto step = stepAt(m_steps, (span.startNs + span.endNs) / 2);
  if (!step) return;
  const QSignalBlocker blocker(m_stepBox);
  m_stepBox->setValue(static_cast<int>(m_steps[*step].number));
}

bool TimelinePage::goToStep(int64_t number) {
  const auto step = std::ranges::find(m_steps, number, &StepSpan::number);
  if (step == m_steps.end()) return false;
  m_state.setSpan(step->span);
  return true;
}

void TimelinePage::moveByStep(int direction) {
  const TimeSpan& span = m_state.span();
  const auto here = stepAt(m_steps, (span.startNs + span.endNs) / 2);
  if (!here) return;
  const auto next = static_cast<int64_t>(*here) + direction;
  if (next >= 0 && next < std::ssize(m_steps)) m_state.setSpan(m_steps[static_cast<size_t>(next)].span);
}

void TimelinePage::searchChanged() {
  if (m_searchBox->text() != m_state.search()) m_searchBox->setText(m_state.search());
  m_found = m_data ? search(*m_data->timeline, m_state.search()) : SearchResult{};
  m_view->setMatches(m_found.matches);
  if (m_state.search().isEmpty()) {
    m_searchLabel->clear();
  } else {
    m_searchLabel->setText(m_found.count == 0 ? tr("no match") : tr("%L1 matches").arg(m_found.count));
  }
}

QString TimelinePage::note() const { return m_note->text(); }

QString TimelinePage::searchText() const { return m_searchLabel->text(); }

void TimelinePage::findNext(int direction) {
  if (!m_data) return;
  const auto match = neighbour(*m_data->timeline, m_found, m_state.selection(), direction);
  if (!match) return;
  m_state.select(match->slice);
  m_view->reveal(match->slice);
  m_searchLabel->setText(tr("%L1 of %L2").arg(match->position + 1).arg(m_found.count));
}

}  // namespace plumb::gui
