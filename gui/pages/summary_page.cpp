// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/summary_page.h"

#include <QLabel>
#include <QVBoxLayout>

#include "gui/pages/absence.h"
#include "gui/pages/cells.h"
#include "gui/pages/scenes.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {
namespace {

using cells::count;
using cells::nsOf;
using cells::text;
using cells::time;

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
      m_ranks(new TableSection(
          tr("Where the time of each rank's device went"),
          tr("span = compute + exposed communication + exposed copies + idle; busy = anything at all ran; exposed = "
             "nothing computed meanwhile"),
          withBreakdown({tr("rank"), tr("device")}), this)),
      m_stepTimes(new TableSection(
          tr("Time per step"),
          tr("Median and percentiles of the steady steps, of GPU spans where work is known to belong to them. Start to "
             "start: the median time to the first work of the next step, so with what lies between, as loading data. "
             "Warm-up: %1.")
              .arg(QString::fromUtf8(warmupRule())),
          {tr("rank"), tr("steps"), tr("warm-up"), tr("median"), tr("p10"), tr("p90"), tr("of"), tr("start to start")},
          this)),
      m_steps(new TableSection(
          tr("Steps"),
          tr("span: from the first start to the last end of the device work launched in the step, on all devices of "
             "the rank as if they were one; start to start: from there to the first work of the next step. Double "
             "click shows a step on the timeline."),
          withBreakdown({tr("rank"), tr("step"), tr("host time"), tr("start to start")}) << tr("note"), this)),
      m_problem(new QLabel(this)) {
  m_problem->setTextFormat(Qt::PlainText);
  m_problem->setWordWrap(true);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_problem);
  layout->addWidget(m_ranks, 1);
  layout->addWidget(m_stepTimes);
  layout->addWidget(m_steps, 1);
  connect(m_steps, &TableSection::rowActivated, this, [this](size_t row) {
    if (row >= m_stepSpans.size()) return;
    m_state.setSpan(m_stepSpans[row]);
    m_state.show(std::nullopt, {});
  });
}

void SummaryPage::setData(const std::shared_ptr<const TraceData>& trace) {
  const TraceData nothing;
  const TraceData& shown = trace ? *trace : nothing;
  m_problem->setText(toQString(shown.summaryProblem));
  m_problem->setVisible(!shown.summaryProblem.empty());
  fillRanks(shown);
  fillStepTimes(shown);
  fillSteps(shown);
  m_ranks->fitHeight();
  m_stepTimes->fitHeight();
}

void SummaryPage::fillRanks(const TraceData& trace) {
  std::vector<std::vector<Cell>> rows;
  for (const DeviceBreakdown& breakdown : trace.breakdowns) {
    const Device* device = trace.device(breakdown.device);
    std::vector<Cell> row{text(processText(trace, breakdown.process)),
                          text(device && !device->name.empty() ? toQString(device->name) : tr("not named"))};
    addBreakdown(row, breakdown.whole);
    if (breakdown.communicationSource == CommunicationSource::Names) row[0].text += tr(" (communication: by name)");
    rows.push_back(std::move(row));
  }
  m_ranks->setRows(std::move(rows), trace.isWhole ? whyNoBreakdown(trace) : tr("Still being computed …"));
}

void SummaryPage::fillStepTimes(const TraceData& trace) {
  std::vector<std::vector<Cell>> rows;
  for (const RankSteps& rank : trace.steps) {
    const auto part = [&](Duration StepStatistics::*which) {
      return time(rank.statistics ? std::optional((*rank.statistics).*which) : std::nullopt);
    };
    QString of = rank.source == StepSource::Period ? tr("repetition of the kernels")
                 : rank.timesAreGpuSpans           ? tr("GPU span")
                                                   : tr("host range: no GPU work is known to belong to it");
    if (rank.openCount > 0) of += tr("; without %1 that never ended").arg(rank.openCount);
    rows.push_back({text(processText(trace, rank.process)), count(static_cast<int64_t>(rank.steps.size())),
                    count(rank.warmupCount), part(&StepStatistics::median), part(&StepStatistics::p10),
                    part(&StepStatistics::p90), text(of),
                    time(rank.startToStart ? std::optional(rank.startToStart->median) : std::nullopt)});
  }
  m_stepTimes->setVisible(!rows.empty());  // the steps' table says why there are none
  m_stepTimes->setRows(std::move(rows), QString());
}

void SummaryPage::fillSteps(const TraceData& trace) {
  std::vector<std::vector<Cell>> rows;
  m_stepSpans.clear();
  for (const RankSteps& rank : trace.steps) {
    for (const Step& step : rank.steps) {
      std::vector<Cell> row{text(processText(trace, rank.process)), count(step.number), time(step.host.length()),
                            time(step.startToStart)};
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
  m_steps->setRows(std::move(rows), trace.isWhole ? whyNoSteps(trace) : tr("Still being computed …"));
}

}  // namespace plumb::gui
