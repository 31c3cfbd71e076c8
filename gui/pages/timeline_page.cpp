// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/timeline_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

namespace plumb::gui {

TimelinePage::TimelinePage(ViewState& state, QWidget* parent)
    : QWidget(parent),
      m_state(state),
      m_searchBox(new QLineEdit(this)),
      m_searchLabel(new QLabel(this)),
      m_view(new TimelineView(state, this)),
      m_legend(new LegendBar(this)),
      m_details(new DetailsPane(state, this)) {
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
  auto* bar = new QHBoxLayout;
  bar->addWidget(m_searchBox);
  bar->addWidget(previous);
  bar->addWidget(next);
  bar->addWidget(m_searchLabel);
  bar->addStretch();
  auto* hint = new QLabel(
      tr("wheel or W/S: zoom · drag or A/D: pan · F: fit selection · Home: fit all · drag on the ruler: measure"),
      this);
  hint->setToolTip(hint->text());
  bar->addWidget(hint);
  auto* splitter = new QSplitter(Qt::Horizontal, this);
  splitter->addWidget(m_view);
  splitter->addWidget(m_details);
  splitter->setStretchFactor(0, 1);
  splitter->setSizes({1000, 330});
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 0);
  layout->addLayout(bar);
  layout->addWidget(splitter, 1);
  layout->addWidget(m_legend);

  connect(m_searchBox, &QLineEdit::textChanged, &m_state, &ViewState::setSearch);
  connect(m_searchBox, &QLineEdit::returnPressed, this, [this] { findNext(1); });
  connect(previous, &QToolButton::clicked, this, [this] { findNext(-1); });
  connect(next, &QToolButton::clicked, this, [this] { findNext(1); });
  connect(&m_state, &ViewState::searchChanged, this, &TimelinePage::searchChanged);
  connect(m_details, &DetailsPane::revealRequested, m_view, &TimelineView::reveal);
}

void TimelinePage::setData(std::shared_ptr<const TraceData> trace) {
  m_data = std::move(trace);
  m_view->setTimeline(m_data ? m_data->timeline : nullptr);
  m_legend->setEntries(m_data ? legendOf(*m_data->timeline) : std::vector<LegendEntry>{});
  m_details->setData(m_data);
  searchChanged();
}

void TimelinePage::searchChanged() {
  if (m_searchBox->text() != m_state.search()) m_searchBox->setText(m_state.search());
  m_found = m_data ? search(*m_data->timeline, m_state.search()) : SearchResult{};
  m_view->setMatches(m_found.matches);
  if (m_state.search().isEmpty()) {
    m_searchLabel->clear();
  } else {
    m_searchLabel->setText(m_found.slices.empty() ? tr("no match") : tr("%L1 matches").arg(m_found.slices.size()));
  }
}

void TimelinePage::findNext(int direction) {
  if (!m_data) return;
  const auto position = neighbour(*m_data->timeline, m_found, m_state.selection(), direction);
  if (!position) return;
  const timeline::SliceRef slice = m_found.slices[*position];
  m_state.select(slice);
  m_view->reveal(slice);
  m_searchLabel->setText(tr("%1 of %2").arg(*position + 1).arg(m_found.slices.size()));
}

}  // namespace plumb::gui
