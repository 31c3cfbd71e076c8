// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/clock_text.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <cmath>

#include "analyzer/analyses/clock_offsets.h"
#include "gui/pages/cells.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("clocks", text); }

// "ranks 4-7", or of processes without ranks their host.
QString whoOf(const TraceData& data, const ClockOffset& clock) {
  std::vector<int64_t> ranks;
  for (const plumb::Process& process : data.processes) {
    if (process.rank && std::ranges::find(clock.processes, process.id) != clock.processes.end())
      ranks.push_back(*process.rank);
  }
  std::ranges::sort(ranks);
  if (ranks.empty() && clock.processes.size() == data.processes.size()) return tr("all processes");
  if (!ranks.empty()) return (ranks.size() > 1 ? tr("ranks %1") : tr("rank %1")).arg(toQString(rankList(ranks)));
  return clock.host.empty() ? tr("processes without a host") : toQString(clock.host);
}

QString distance(const TraceData& data, const ClockOffset& clock) {
  const QString who = whoOf(data, clock);
  if (!clock.offset) return tr("%1: cannot say, because no collective joins them").arg(who);
  const double offset = cells::nsOf(*clock.offset);
  QString text = tr("%1: %2 %3").arg(who, formatDuration(std::abs(offset)), offset < 0 ? tr("behind") : tr("ahead"));
  if (clock.error) text += tr(" (± %1)").arg(formatDuration(cells::nsOf(*clock.error)));
  return text;
}

}  // namespace

QString clockNote(const TraceData& data) {
  const std::vector<ClockOffset>& clocks = data.collectives.clocks;
  if (clocks.size() < 2) return {};
  constexpr size_t kMostNamed = 4;
  QStringList parts;
  for (size_t i = 1; i < clocks.size() && i <= kMostNamed; ++i) parts << distance(data, clocks[i]);
  if (clocks.size() > kMostNamed + 1) parts << tr("%1 more").arg(clocks.size() - 1 - kMostNamed);
  return tr("The ranks do not share a clock. Against %1: %2. The timeline shows times as they were recorded; waits and "
            "skews of collectives are corrected.")
      .arg(whoOf(data, clocks[0]), parts.join(QStringLiteral("; ")));
}

QStringList clockColumns() {
  return {tr("host"),        tr("processes"),      tr("of"), tr("clock ahead by"), tr("certain within"),
          tr("collectives"), tr("how it is known")};
}

std::vector<std::vector<Cell>> clockRows(const TraceData& data) {
  const std::vector<ClockOffset>& clocks = data.collectives.clocks;
  std::vector<std::vector<Cell>> rows;
  for (size_t i = 0; i < clocks.size(); ++i) {
    const ClockOffset& clock = clocks[i];
    rows.push_back({cells::text(clock.host.empty() ? tr("not known") : toQString(clock.host)),
                    cells::count(static_cast<int64_t>(clock.processes.size())), cells::text(whoOf(data, clock)),
                    cells::time(clock.offset), cells::time(clockBound(clocks, i)), cells::count(clock.instanceCount),
                    cells::text(toQString(clockBasis(clocks, i)))});
  }
  return rows;
}

}  // namespace plumb::gui
