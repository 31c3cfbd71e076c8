// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/health_page.h"

#include <QDateTime>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {

HealthPage::HealthPage(QWidget* parent)
    : QWidget(parent), m_factTable(new QTableView(this)), m_diagnosticTable(new QTableView(this)) {
  m_factTable->setModel(&m_facts);
  m_diagnosticTable->setModel(&m_diagnostics);
  for (QTableView* table : {m_factTable, m_diagnosticTable}) {
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
    table->horizontalHeader()->setStretchLastSection(true);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
  }
  m_factTable->setAccessibleName(tr("The recording"));
  m_diagnosticTable->setAccessibleName(tr("Diagnostics"));
  m_diagnosticTable->setWordWrap(true);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(new QLabel(tr("The recording"), this));
  layout->addWidget(m_factTable, 1);
  layout->addWidget(new QLabel(tr("What was lost, failed or is doubtful"), this));
  layout->addWidget(m_diagnosticTable, 1);
}

void HealthPage::setData(const std::shared_ptr<const TraceData>& trace) {
  if (!trace) {
    m_facts.setFields({});
    m_diagnostics.setDiagnostics({}, {});
    return;
  }
  const timeline::Timeline& all = *trace->timeline;
  std::vector<FieldModel::Field> fields{
      {tr("file"), toQString(trace->path)},
      {tr("command"), toQString(trace->info.command)},
      {tr("host"), toQString(trace->info.host)},
      {tr("complete"), trace->info.complete ? tr("yes") : tr("no: still being recorded, or its recorder was killed")},
      {tr("length"), formatDuration(static_cast<double>(all.extent.endNs - all.extent.startNs))},
      {tr("processes"), QString::number(trace->processes.size())},
      {tr("events on the timeline"), QString::number(all.sliceCount)},
      {tr("events without a usable time"), QString::number(all.untimedCount)}};
  if (trace->info.sessionStartRealtimeNs > 0) {
    fields.emplace_back(
        tr("started"),
        QDateTime::fromMSecsSinceEpoch(trace->info.sessionStartRealtimeNs / 1'000'000).toString(Qt::ISODate));
  }
  for (const std::string& device : all.devices) fields.emplace_back(tr("device"), toQString(device));
  if (all.softwareDevice)
    fields.emplace_back(tr("note"),
                        tr("durations on the software device are CPU time and are not comparable with a GPU's"));
  m_facts.setFields(std::move(fields));
  m_diagnostics.setDiagnostics(trace->diagnostics, trace->processes);
  m_factTable->resizeColumnToContents(FieldModel::kName);
  m_diagnosticTable->resizeColumnsToContents();
  m_diagnosticTable->resizeRowsToContents();
}

}  // namespace plumb::gui
