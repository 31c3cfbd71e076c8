// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/summary_page.h"

#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/pages/scenes.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {
namespace {

double nsOf(Duration duration) { return static_cast<double>(duration.ns()); }

Cell text(const QString& value) { return {value, std::nullopt}; }
Cell count(int64_t value) { return {QString::number(value), static_cast<double>(value)}; }
Cell time(Duration value) { return {formatDuration(nsOf(value)), nsOf(value)}; }
Cell bytes(double value) { return {formatBytes(value), value}; }
Cell rate(const std::optional<double>& value) {
  return value ? Cell{formatSi(*value) + QStringLiteral("B/s"), *value} : Cell{QStringLiteral("–"), -1.0};
}

// "12.3 ms · 45.6 %"
Cell share(Duration part, Duration whole) {
  if (whole.ns() <= 0) return {formatDuration(nsOf(part)), nsOf(part)};
  return {QStringLiteral("%1 · %2 %").arg(formatDuration(nsOf(part))).arg(nsOf(part) / nsOf(whole) * 100, 0, 'f', 1),
          nsOf(part)};
}

// The cells that ranks and steps have in common.
void addBreakdown(std::vector<Cell>& row, const Breakdown& b) {
  row.push_back(time(b.span));
  for (const Duration part : {b.busy, b.compute, b.communication, b.exposedCommunication, b.exposedMemory, b.idle})
    row.push_back(share(part, b.span));
  const auto overlap = b.overlapShare();
  row.push_back(overlap ? Cell{QStringLiteral("%1 %").arg(*overlap * 100, 0, 'f', 1), *overlap}
                        : Cell{QStringLiteral("no communication"), -1.0});
}

QStringList withBreakdown(QStringList first) {
  return first << QObject::tr("span") << QObject::tr("busy") << QObject::tr("compute") << QObject::tr("communication")
               << QObject::tr("exposed comm.") << QObject::tr("exposed copies") << QObject::tr("idle")
               << QObject::tr("comm. overlapped");
}

}  // namespace

SummaryPage::SummaryPage(ViewState& state, QWidget* parent)
    : QWidget(parent),
      m_state(state),
      m_ranks(withBreakdown({tr("rank"), tr("device")})),
      m_steps(withBreakdown({tr("rank"), tr("step"), tr("host time")}) << tr("note")),
      m_collectives({tr("operation"), tr("communicator"), tr("datatype"), tr("ranks"), tr("bytes each"), tr("count"),
                     tr("kernel time"), tr("median"), tr("waited"), tr("algbw"), tr("busbw"), tr("busbw factor")}),
      m_problem(new QLabel(this)) {
  m_problem->setTextFormat(Qt::PlainText);
  m_problem->setWordWrap(true);
  new QVBoxLayout(this);
  layout()->addWidget(m_problem);
  addTable(m_ranks, tr("Where the time of each rank's device went"),
           tr("span = compute + exposed communication + exposed copies + idle; busy = anything at all ran; exposed = "
              "nothing computed meanwhile"));
  addTable(m_steps, tr("Steps"),
           tr("span: from the first start to the last end of the device work launched in the step. Double click shows "
              "a step on the timeline."));
  addTable(m_collectives, tr("Collectives"),
           tr("bytes as NCCL counts them; algbw = bytes / transfer, busbw = algbw × factor; waited: for the last rank "
              "to arrive, summed over ranks"));
  connect(m_steps.view, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
    const auto row = static_cast<size_t>(m_steps.sorted.mapToSource(index).row());
    if (row >= m_stepSpans.size()) return;
    m_state.setSpan(m_stepSpans[row]);
    emit timelineRequested();
  });
}

void SummaryPage::addTable(Table& table, const QString& title, const QString& definition) {
  auto* heading = new QLabel(title, this);
  QFont bold = heading->font();
  bold.setBold(true);
  heading->setFont(bold);
  auto* explanation = new QLabel(definition, this);
  explanation->setWordWrap(true);
  table.view = new QTableView(this);
  table.sorted.setSourceModel(&table.model);
  table.sorted.setSortRole(Qt::UserRole);
  table.view->setModel(&table.sorted);
  table.view->setSortingEnabled(true);
  table.view->sortByColumn(-1, Qt::AscendingOrder);  // as computed, until the user sorts
  table.view->setWordWrap(false);
  table.view->setSelectionBehavior(QAbstractItemView::SelectRows);
  table.view->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table.view->verticalHeader()->hide();
  table.view->verticalHeader()->setDefaultSectionSize(table.view->fontMetrics().height() + 6);
  table.view->setAccessibleName(title);
  layout()->addWidget(heading);
  layout()->addWidget(explanation);
  static_cast<QVBoxLayout*>(layout())->addWidget(table.view, 1);
}

void SummaryPage::setData(const std::shared_ptr<const TraceData>& trace) {
  const TraceData nothing;
  const TraceData& shown = trace ? *trace : nothing;
  m_problem->setText(toQString(shown.summaryProblem));
  m_problem->setVisible(!shown.summaryProblem.empty());
  fillRanks(shown);
  fillSteps(shown);
  fillCollectives(shown);
  for (const Table* table : {&m_ranks, &m_steps, &m_collectives}) table->view->resizeColumnsToContents();
}

void SummaryPage::fillRanks(const TraceData& trace) {
  std::vector<std::vector<Cell>> rows;
  for (const DeviceBreakdown& breakdown : trace.breakdowns) {
    const Device* device = trace.device(breakdown.device);
    std::vector<Cell> row{text(processText(trace, breakdown.process)),
                          text(device ? toQString(device->name) : QString())};
    addBreakdown(row, breakdown.whole);
    if (breakdown.communicationSource == CommunicationSource::Names) row[0].text += tr(" (communication: by name)");
    rows.push_back(std::move(row));
  }
  m_ranks.model.setRows(std::move(rows));
}

void SummaryPage::fillSteps(const TraceData& trace) {
  std::vector<std::vector<Cell>> rows;
  m_stepSpans.clear();
  for (const RankSteps& rank : trace.steps) {
    for (const Step& step : rank.steps) {
      std::vector<Cell> row{text(processText(trace, rank.process)), count(step.number), time(step.host.length())};
      if (step.gpu) {
        addBreakdown(row, *step.gpu);
      } else {
        row.resize(row.size() + 8, text(tr("–")));
      }
      row.push_back(text(step.isWarmup ? tr("warm-up") : QString()));
      rows.push_back(std::move(row));
      const auto start = static_cast<double>(step.host.start.ns());
      const auto end = static_cast<double>(step.host.end.ns());
      m_stepSpans.push_back({start - (end - start) * 0.02, end + (end - start) * 0.02});
    }
  }
  m_steps.model.setRows(std::move(rows));
}

void SummaryPage::fillCollectives(const TraceData& trace) {
  std::vector<std::vector<Cell>> rows;
  for (const CollectiveGroup& group : trace.collectives.groups) {
    const QString name = group.communicatorName.empty()
                             ? QStringLiteral("0x%1").arg(static_cast<quint64>(group.communicatorHash), 0, 16)
                             : toQString(group.communicatorName);
    rows.push_back({text(toQString(group.operation)), text(name), text(toQString(group.datatype)),
                    count(group.rankCount), bytes(static_cast<double>(group.bytes)), count(group.count),
                    time(group.kernelTime), time(group.kernelMedian), time(group.waitTime), rate(group.transferAlgbw),
                    rate(group.transferBusbw), text(QString::fromUtf8(group.busFormula))});
  }
  m_collectives.model.setRows(std::move(rows));
}

}  // namespace plumb::gui
