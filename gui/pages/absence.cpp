// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/absence.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>

#include "analyzer/cli/text.h"
#include "gui/pages/scenes.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("absence", text); }

// What the recording says about a lane that brought nothing; "" when it says nothing.
QString said(const TraceData& data, const char* lane) {
  for (const char* severity : {"error", "warning"}) {
    for (const Diagnostic& diagnostic : data.diagnostics) {
      if (diagnostic.lane == lane && diagnostic.severity == severity)
        return QStringLiteral(" ") + toQString(diagnostic.message);
    }
  }
  return {};
}

// The first is told; a program that catches the error often tries again.
QString outOfMemoryText(const TraceData& data) {
  const OutOfMemory& first = data.outOfMemory.front();
  MemoryScene axis;
  if (!hasTimes(data, first.process)) axis.axis = MemoryAxis::kEvents;
  const QString when = axis.placeOf(static_cast<double>(first.time.ns()), 1e6);
  QString text = tr("Out of memory at %1: %2").arg(when, toQString(cli::escaped(first.what)));
  for (const int64_t bytes : liveAt(first, data.memory.devices))
    text += tr("; %1 were live").arg(toQString(cli::formatBytes(static_cast<double>(bytes))));
  if (data.outOfMemory.size() > 1) text += tr(" (the first of %1 times)").arg(data.outOfMemory.size());
  return text + tr(". What was live: page Memory.");
}

QString holds(const TraceData& data) {
  const QString what = toQString(data.contents.text());
  return what.isEmpty() ? tr(" The file holds no events at all.") : tr(" The file holds %1.").arg(what);
}

}  // namespace

QString whyNoTimeline(const TraceData& data) {
  QString text = tr("Cannot show a timeline, because the recording holds no events that have a time.") + holds(data);
  if (data.contents.allocations) text += tr(" Its memory is on the page Memory.");
  if (data.contents.counters) text += tr(" Its counters: plumb report counters FILE.");
  if (data.contents.benchmarks) text += tr(" Its benchmarks: plumb report benchmarks FILE.");
  if (data.timeline && data.timeline->untimedCount > 0)
    text += tr(" %L1 events have no usable time.").arg(data.timeline->untimedCount);
  return text + said(data, "cupti");
}

QString whyNoBreakdown(const TraceData& data) {
  return tr("Cannot say where a device's time went, because the recording holds no kernels, copies or sets.") +
         holds(data) + said(data, "cupti");
}

QString whyNoSteps(const TraceData& data) {
  const QString how =
      data.contents.kernels
          ? tr("no range is named 'step' or 'ProfilerStep', and its kernels do not repeat, or only inside one graph "
               "launch")
          : tr("no range is named 'step' or 'ProfilerStep', and there are no kernels that could repeat");
  return tr("Cannot say what a step took, because %1.").arg(how) + said(data, "nvtx");
}

QString whyNoCollectives(const TraceData& data) {
  if (data.contents.communicators && !data.contents.largerCommunicators)
    return tr("No collective was recorded, because every communicator has one rank: NCCL launches no kernels for it.");
  if (data.contents.benchmarks)
    return tr("No collective was recorded: the file holds benchmarks of collectives (plumb report benchmarks FILE).");
  return tr("Cannot say what collectives took, because none was recorded.") + holds(data) + said(data, "nccl");
}

QString whyNoMemory(const TraceData& data) {
  if (!data.contents.whyNoAllocation.empty())
    return tr("Cannot say what memory was used for, because %1.").arg(toQString(data.contents.whyNoAllocation));
  return tr("Cannot say what memory was used for, because the recording holds no device allocations.") + holds(data) +
         said(data, "memory");
}

QString whyNoRoofline(const TraceData& data) {
  return tr("Cannot draw a roofline, because the recording holds no kernels.") + holds(data) + said(data, "cupti");
}

QString stuckSentence(const TraceData& data) {
  if (!data.stuckProblem.empty()) return tr("Cannot say whether the run hangs: %1").arg(toQString(data.stuckProblem));
  if (data.stuck.collectives.empty()) return toQString(hangSentence(data.stuck, ""));
  const std::optional<TimePoint>& since = data.stuck.collectives.front().since;
  return toQString(hangSentence(
      data.stuck, since ? formatTime(static_cast<double>(since->ns()), 1e6).toStdString() : std::string()));
}

QString runEndNote(const TraceData& data) {
  QStringList parts;
  if (!data.stuck.collectives.empty()) parts << stuckSentence(data);
  if (!data.outOfMemory.empty()) parts << outOfMemoryText(data);
  QStringList lost;
  for (const plumb::Process& process : data.processes) {
    if (process.ended == "lost") lost << toQString(process.label());
  }
  constexpr qsizetype kMostNamed = 8;
  const qsizetype more = lost.size() - kMostNamed;
  if (more > 0) lost = lost.mid(0, kMostNamed) << tr("%1 more").arg(more);
  if (!lost.isEmpty())
    parts << tr("Ended without a goodbye (killed?): %1. Their last events may be missing.")
                 .arg(lost.join(QStringLiteral(", ")));
  if (!data.info.complete) {
    parts
        << tr("The recording is not finished: it is still being made (%1 reads it again), or its recorder was killed.")
               .arg(QStringLiteral("F5"));
  }
  return parts.join(QStringLiteral(" "));
}

}  // namespace plumb::gui
