// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/memory_page.h"

#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/pages/absence.h"
#include "gui/pages/scenes.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {

MemoryPage::MemoryPage(ViewState& state, QWidget* parent)
    : QWidget(parent),
      m_state(state),
      m_note(new QLabel(this)),
      m_scroll(new QScrollArea(this)),
      m_view(new MemoryView(this)) {
  m_note->setTextFormat(Qt::PlainText);
  m_note->setWordWrap(true);
  m_scroll->setWidget(m_view);
  m_scroll->setWidgetResizable(true);
  m_scroll->setFrameShape(QFrame::NoFrame);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 0);
  layout->addWidget(m_note);
  layout->addWidget(m_scroll, 1);
  layout->addStretch();  // below a note alone
  connect(&m_state, &ViewState::spanChanged, this, [this] { m_view->setSpan(m_state.span()); });
  connect(&m_state, &ViewState::measuredChanged, this, [this] { m_view->setMeasured(m_state.measured()); });
  connect(m_view, &MemoryView::zoomRequested, this, [this](double factor, double anchorNs) {
    m_state.setSpan(zoomed(m_state.span(), factor, anchorNs, m_state.limits()));
  });
  connect(m_view, &MemoryView::panRequested, this, [this](double offsetNs) {
    m_state.setSpan(panned(m_state.span(), offsetNs, m_state.limits()), ViewState::History::kContinue);
  });
}

QString MemoryPage::note() const { return m_note->text(); }

void MemoryPage::setData(std::shared_ptr<const TraceData> trace) {
  std::vector<MemoryScene> scenes;
  if (trace) {
    for (const DeviceMemory& memory : trace->memory.devices) {
      if (!memory.points.empty()) scenes.push_back(memoryScene(*trace, memory));
    }
  }
  const bool isNamed = std::ranges::any_of(scenes, [](const auto& scene) { return scene.memory->hasDeclarations; });
  QString note = isNamed
                     ? tr("Live device allocations by what the program declared them to be.")
                     : tr("Live device allocations by who allocated them, where that is known: the program declared "
                          "none of its memory.");
  note += tr(" Ctrl+wheel zooms, dragging moves; the time span is the timeline's.");
  if (trace && !trace->memoryProblem.empty())
    note = toQString(trace->memoryProblem);
  else if (scenes.empty())
    note = !trace ? QString() : trace->isWhole ? whyNoMemory(*trace) : tr("Still being computed …");
  m_note->setText(note);
  m_scroll->setVisible(!scenes.empty());
  // The view points into the data: it must let go before the old data goes.
  m_view->setScenes(std::move(scenes));
  m_data = std::move(trace);
}

}  // namespace plumb::gui
