// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/collectives_page.h"

#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

#include "gui/pages/absence.h"
#include "gui/pages/cells.h"
#include "gui/pages/clock_text.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {
namespace {

QString toText(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

Cell ranks(const std::vector<int64_t>& list) { return cells::text(toQString(rankList(list))); }

}  // namespace

CollectivesPage::CollectivesPage(ViewState& state, QWidget* parent)
    : QWidget(parent),
      m_state(state),
      m_verdict(new QLabel(this)),
      m_clockNote(new QLabel(this)),
      m_stuck(new TableSection(
          tr("Stuck collectives"),
          tr("missing: ranks that keep the others waiting; since: when the first that has not ended was called. Double "
             "click shows it on the timeline."),
          {tr("state"), tr("group"), tr("operation"), tr("number"), tr("missing ranks"), tr("waiting ranks"),
           tr("completed ranks"), tr("since"), tr("waited"), tr("size"), tr("datatype"), tr("called in"), tr("reason")},
          this)),
      m_collectives(new TableSection(
          tr("All collectives"),
          tr("bytes as NCCL counts them; algbw = bytes / transfer, busbw = algbw × factor; waited: for the last rank "
             "to arrive, summed over ranks; –: not known"),
          {tr("operation"), tr("communicator"), tr("datatype"), tr("ranks"), tr("bytes each"), tr("count"),
           tr("kernel time"), tr("median"), tr("waited"), tr("algbw"), tr("busbw"), tr("busbw factor")},
          this)) {
  m_verdict->setTextFormat(Qt::PlainText);
  m_verdict->setWordWrap(true);
  QFont bold = m_verdict->font();
  bold.setBold(true);
  m_verdict->setFont(bold);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  splitter->addWidget(m_stuck);
  splitter->addWidget(m_collectives);
  splitter->setChildrenCollapsible(false);
  auto* layout = new QVBoxLayout(this);
  m_clockNote->setTextFormat(Qt::PlainText);
  m_clockNote->setWordWrap(true);
  layout->addWidget(m_verdict);
  layout->addWidget(m_clockNote);
  layout->addWidget(splitter, 1);
  connect(m_stuck, &TableSection::rowActivated, this, &CollectivesPage::reveal);
}

void CollectivesPage::setData(const std::shared_ptr<const TraceData>& trace) {
  m_data = trace;
  const TraceData nothing;
  const TraceData& shown = trace ? *trace : nothing;
  m_verdict->setVisible(!shown.stuck.collectives.empty());
  m_verdict->setText(stuckSentence(shown));
  m_clockNote->setText(gui::clockNote(shown));
  m_clockNote->setVisible(!m_clockNote->text().isEmpty());
  fillStuck(shown);
  fillCollectives(shown);
  m_stuck->fitHeight();
}

QString CollectivesPage::clockNote() const { return m_clockNote->text(); }

void CollectivesPage::fillStuck(const TraceData& trace) {
  std::vector<std::vector<Cell>> rows;
  for (const StuckCollective& stuck : trace.stuck.collectives) {
    const QString group = toQString(stuck.description.empty() ? stuck.group : stuck.group + " " + stuck.description);
    Cell since = cells::unknown();
    if (stuck.since) {
      const auto ns = static_cast<double>(stuck.since->ns());
      since = {formatTime(ns, 1e6), ns};
    }
    rows.push_back({cells::text(toText(nameOf(stuck.kind))), cells::text(group),
                    cells::text(toQString(stuck.operation)), cells::count(stuck.sequence), ranks(stuck.missing),
                    ranks(stuck.waiting), ranks(stuck.completed), since, cells::time(stuck.waited),
                    cells::text(toQString(stuck.sizes)), cells::text(toQString(stuck.datatype)),
                    cells::text(toQString(stuck.place)), cells::text(toQString(stuck.reason))});
  }
  m_stuck->setRows(std::move(rows), stuckSentence(trace));
}

void CollectivesPage::fillCollectives(const TraceData& trace) {
  std::vector<std::vector<Cell>> rows;
  for (const CollectiveGroup& group : trace.collectives.groups) {
    const QString name = group.communicatorName.empty()
                             ? QStringLiteral("0x%1").arg(static_cast<quint64>(group.communicatorHash), 0, 16)
                             : toQString(group.communicatorName);
    const bool timed = group.count > group.withoutKernel + group.sharedKernel;
    const bool matched = group.completeCount > 0;
    const auto when = [](bool known, Duration value) {
      return cells::time(known ? std::optional(value) : std::nullopt);
    };
    rows.push_back({cells::text(toQString(group.operation)), cells::text(name), cells::text(toQString(group.datatype)),
                    cells::count(group.rankCount), cells::bytes(static_cast<double>(group.bytes)),
                    cells::count(group.count), when(timed, group.kernelTime), when(timed, group.kernelMedian),
                    when(matched, group.waitTime), cells::rate(group.transferAlgbw), cells::rate(group.transferBusbw),
                    cells::text(QString::fromUtf8(group.busFormula))});
  }
  m_collectives->setRows(std::move(rows), trace.isWhole ? whyNoCollectives(trace) : tr("Still being computed …"));
}

void CollectivesPage::reveal(size_t row) {
  for (const OpenCollective& open : m_data->open) {
    if (open.stuck != row) continue;
    if (const auto slice = timeline::sliceOfCollective(*m_data->timeline, open.id)) {
      m_state.show(std::nullopt, {*slice});
      return;
    }
  }
}

}  // namespace plumb::gui
