// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/health_page.h"

#include <QDateTime>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/pages/clock_text.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {
namespace {

QLabel* makeHeading(const QString& text, QWidget* parent) {
  auto* heading = new QLabel(text, parent);
  QFont bold = heading->font();
  bold.setBold(true);
  heading->setFont(bold);
  return heading;
}

}  // namespace

HealthPage::HealthPage(QWidget* parent)
    : QWidget(parent),
      m_factTable(new QTableView(this)),
      m_clocks(
          new TableSection(tr("Clocks"),
                           tr("A moment has a time that is later by this on the clock than on the first one. "
                              "Whether clocks agree is told by collectives, which no rank leaves before all came."),
                           clockColumns(), this)),
      m_nothingLost(
          new QLabel(tr("Nothing was lost, nothing failed and nothing is doubtful, as far as was recorded."), this)),
      m_diagnosticTable(new QTableView(this)) {
  m_factTable->setModel(&m_facts);
  m_diagnosticTable->setModel(&m_diagnostics);
  for (QTableView* table : {m_factTable, m_diagnosticTable}) {
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
    table->horizontalHeader()->setStretchLastSection(true);
    table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
  }
  m_factTable->setAccessibleName(tr("The recording"));
  m_diagnosticTable->setAccessibleName(tr("Diagnostics"));
  m_diagnosticTable->setWordWrap(true);
  m_clocks->view().horizontalHeader()->setStretchLastSection(true);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(makeHeading(tr("The recording"), this));
  layout->addWidget(m_factTable, 1);
  layout->addWidget(m_clocks);
  layout->addWidget(makeHeading(tr("What was lost, failed or is doubtful"), this));
  layout->addWidget(m_nothingLost);
  layout->addWidget(m_diagnosticTable, 2);
  layout->addStretch();  // below all when nothing was lost
}

void HealthPage::setData(const std::shared_ptr<const TraceData>& trace) {
  const TraceData nothing;
  const TraceData& shown = trace ? *trace : nothing;
  if (trace)
    showFacts(*trace);
  else
    m_facts.setFields({});
  m_diagnostics.setDiagnostics(shown.diagnostics, shown.processes);
  m_diagnosticTable->setVisible(!shown.diagnostics.empty());
  m_nothingLost->setVisible(trace && shown.diagnostics.empty());
  m_diagnosticTable->resizeColumnsToContents();
  // Of one process there is nothing to say.
  m_clocks->setVisible(shown.processes.size() > 1);
  m_clocks->setRows(clockRows(shown),
                    !shown.isWhole
                        ? tr("Still being computed …")
                        : tr("Cannot say whether the clocks agree: %1").arg(toQString(shown.summaryProblem)));
  m_clocks->fitHeight();
  fitRows();
}

void HealthPage::showFacts(const TraceData& trace) {
  const timeline::Timeline& all = *trace.timeline;
  std::vector<FieldModel::Field> fields{
      {tr("file"), toQString(trace.path)},
      {tr("command"), toQString(trace.info.command)},
      {tr("host"), trace.info.host.empty() ? tr("not recorded") : toQString(trace.info.host)},
      {tr("complete"), trace.info.complete ? tr("yes") : tr("no: still being recorded, or its recorder was killed")},
      {tr("length"), formatDuration(static_cast<double>(all.extent.endNs - all.extent.startNs))},
      {tr("processes"), tr("%L1").arg(trace.processes.size())},
      {tr("events on the timeline"), tr("%L1").arg(all.sliceCount)},
      {tr("events without a usable time"), tr("%L1").arg(all.untimedCount)}};
  if (trace.info.sessionStartRealtimeNs > 0) {
    fields.emplace_back(
        tr("started"),
        QDateTime::fromMSecsSinceEpoch(trace.info.sessionStartRealtimeNs / 1'000'000).toString(Qt::ISODate));
  }
  for (const std::string& device : all.devices) fields.emplace_back(tr("device"), toQString(device));
  if (all.softwareDevice)
    fields.emplace_back(tr("note"),
                        tr("durations on the software device are CPU time and are not comparable with a GPU's"));
  m_facts.setFields(std::move(fields));
  m_factTable->resizeColumnToContents(FieldModel::kName);
  constexpr int kReadable = 250;
  const int height = heightOfRows(*m_factTable);
  m_factTable->setMaximumHeight(height);
  m_factTable->setMinimumHeight(std::min(height, kReadable));
}

QString HealthPage::emptyText() const { return m_nothingLost->isVisibleTo(this) ? m_nothingLost->text() : QString(); }

// Long messages are wrapped at the width that the table has.
void HealthPage::fitRows() {
  constexpr int kMostRows = 2000;  // each is laid out anew
  if (isVisible() && m_diagnostics.rowCount() <= kMostRows) m_diagnosticTable->resizeRowsToContents();
}

void HealthPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  fitRows();
}

void HealthPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fitRows();
}

}  // namespace plumb::gui
