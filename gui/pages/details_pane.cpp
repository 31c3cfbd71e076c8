// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/details_pane.h"

#include <QHeaderView>
#include <QLabel>
#include <QListWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {

DetailsPane::DetailsPane(ViewState& state, QWidget* parent)
    : QWidget(parent),
      m_state(state),
      m_title(new QLabel(this)),
      m_linkTitle(new QLabel(this)),
      m_table(new QTableView(this)),
      m_links(new QListWidget(this)) {
  for (QLabel* label : {m_title, m_linkTitle}) {
    label->setTextFormat(Qt::PlainText);  // names come from the trace
    label->setWordWrap(true);
    QFont font = label->font();
    font.setBold(true);
    label->setFont(font);
  }
  m_title->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_table->setModel(&m_fields);
  m_table->verticalHeader()->hide();
  m_table->verticalHeader()->setDefaultSectionSize(m_table->fontMetrics().height() + 6);
  m_table->horizontalHeader()->setStretchLastSection(true);
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setAccessibleName(tr("Fields of the selected event"));
  m_links->setMaximumHeight(4 * (m_links->fontMetrics().height() + 6));
  m_table->setWordWrap(true);
  m_links->setAccessibleName(tr("Linked events"));
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_title);
  layout->addWidget(m_table, 1);
  layout->addWidget(m_linkTitle);
  layout->addWidget(m_links);
  connect(&m_state, &ViewState::selectionChanged, this, &DetailsPane::showSelection);
  connect(m_links, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) {
    const auto row = static_cast<size_t>(m_links->row(item));
    if (row >= m_linked.size()) return;
    const timeline::SliceRef slice = m_linked[row];
    m_state.select(slice);
    emit revealRequested(slice);
  });
  showSelection();
}

void DetailsPane::setData(std::shared_ptr<const TraceData> trace) {
  m_jobs.cancel();
  m_data = std::move(trace);
  showSelection();
}

void DetailsPane::showSelection() {
  m_links->clear();
  m_linked.clear();
  m_basics.clear();
  m_jobs.cancel();
  const auto& selection = m_state.selection();
  if (!m_data || !selection) {
    m_title->setText(tr("Click an event to see everything about it."));
    m_linkTitle->hide();
    m_links->hide();
    m_fields.setFields({});
    return;
  }
  const timeline::Timeline& all = *m_data->timeline;
  const timeline::Slice& slice = all.slice(*selection);
  m_title->setText(toQString(all.names[slice.name]));
  m_basics = {{tr("kind"), QLatin1String(timeline::kindName(slice.kind))},
              {tr("duration"), durationOf(slice)},
              {tr("start"), formatTime(static_cast<double>(slice.startNs), 1)},
              {tr("where"), toQString(all.processes[selection->process].label)},
              {tr("track"), toQString(all.track(*selection).label)}};
  if (slice.kind == timeline::SliceKind::kStep) addStepTimes(slice.id);
  if (slice.note) m_basics.emplace_back(tr("note"), toQString(all.names[slice.note]));
  m_fields.setFields(m_basics);
  m_table->resizeRowsToContents();

  constexpr size_t kMostLinks = 200;
  m_linked = timeline::linkedSlices(all, *selection);
  const size_t count = m_linked.size();
  if (m_linked.size() > kMostLinks) m_linked.resize(kMostLinks);
  const bool linked = count > 0;
  m_linkTitle->setVisible(linked);
  m_links->setVisible(linked);
  if (linked) {
    m_linkTitle->setText(timeline::isDeviceWork(slice.kind)               ? tr("launched by")
                         : slice.kind == timeline::SliceKind::kCollective ? tr("launch and kernel")
                                                                          : tr("launched (%1)").arg(count));
    for (const timeline::SliceRef& ref : m_linked) {
      const timeline::Slice& other = all.slice(ref);
      const double delay = static_cast<double>(other.startNs - slice.startNs);
      m_links->addItem(QStringLiteral("%1 · %2 %3 · %4")
                           .arg(toQString(all.names[other.name]), formatDuration(std::abs(delay)),
                                delay < 0 ? tr("before") : tr("after"), toQString(all.track(ref).label)));
    }
  }
  readFields(slice);
}

// The two lengths of a step that the summary and the reports tell, beside that of its range.
void DetailsPane::addStepTimes(int64_t range) {
  for (const RankSteps& rank : m_data->steps) {
    const auto step = std::ranges::find(rank.steps, RangeId(range), &Step::range);
    if (step == rank.steps.end()) continue;
    m_basics.emplace_back(tr("GPU span"), step->gpu ? formatDuration(static_cast<double>(step->gpu->span.ns()))
                                                    : tr("no GPU work is known to belong to it"));
    m_basics.emplace_back(tr("start to start"), step->startToStart
                                                    ? formatDuration(static_cast<double>(step->startToStart->ns()))
                                                    : tr("no next step is known"));
    return;
  }
}

void DetailsPane::readFields(const timeline::Slice& slice) {
  using Fields = std::vector<timeline::DetailField>;
  m_jobs.start(
      [path = m_data->path, kind = slice.kind, id = slice.id](const JobControl&) -> Result<Fields> {
        auto trace = Trace::open(path);
        if (!trace.ok()) return trace.error();
        return timeline::loadDetails(trace.value(), kind, id);
      },
      [this](Result<Fields> loaded) {
        auto fields = m_basics;
        if (loaded.ok()) {
          for (const timeline::DetailField& field : loaded.value()) {
            const QString name = toQString(field.name);
            const bool known = std::ranges::any_of(m_basics, [&](const auto& basic) { return basic.first == name; });
            if (!known) fields.emplace_back(name, toQString(field.value));
          }
        } else {
          fields.emplace_back(tr("not read"), toQString(loaded.error().message));
        }
        m_fields.setFields(std::move(fields));
        m_table->resizeColumnToContents(FieldModel::kName);
        m_table->resizeRowsToContents();
      });
}

}  // namespace plumb::gui
