// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/legend.h"

#include <QFontMetricsF>
#include <algorithm>
#include <array>
#include <utility>

namespace plumb::gui {

using timeline::SliceKind;

std::vector<LegendEntry> legendOf(const timeline::Timeline& timeline) {
  static constexpr std::array<std::pair<SliceKind, const char*>, 11> kAll{
      {{SliceKind::kKernel, "compute kernel"},
       {SliceKind::kCommunication, "communication kernel"},
       {SliceKind::kCopy, "memory copy"},
       {SliceKind::kSet, "memory set"},
       {SliceKind::kCollective, "collective (NCCL)"},
       {SliceKind::kStuck, "stuck collective: has not ended"},
       {SliceKind::kApiCall, "CUDA API call"},
       {SliceKind::kSynchronization, "synchronization"},
       {SliceKind::kOsCall, "operating system call"},
       {SliceKind::kRange, "range (NVTX, record_function, operator; coloured by name)"},
       {SliceKind::kStep, "training step"}}};
  std::array<bool, kAll.size()> present{};
  for (const auto& process : timeline.processes) {
    for (const auto& track : process.tracks) {
      for (const auto& lane : track.lanes) {
        for (const auto& slice : lane.slices) present[static_cast<size_t>(slice.kind)] = true;
      }
    }
  }
  std::vector<LegendEntry> entries;
  for (const auto& [kind, text] : kAll) {
    if (!present[static_cast<size_t>(kind)]) continue;
    const bool byName = kind == SliceKind::kCommunication && timeline.communicationByName;
    entries.push_back({kind, QLatin1String(text) + (byName ? QStringLiteral(" (by name)") : QString())});
  }
  return entries;
}

double paintLegend(QPainter& painter, const std::vector<LegendEntry>& entries, const Theme& theme, QPointF topLeft,
                   double width) {
  const QFontMetricsF metrics(painter.font());
  const double line = metrics.height() + 6;
  double x = topLeft.x();
  double y = topLeft.y();
  for (const LegendEntry& entry : entries) {
    const double needed = 12 + 6 + metrics.horizontalAdvance(entry.text) + 18;
    if (x + needed > topLeft.x() + width && x > topLeft.x()) {
      x = topLeft.x();
      y += line;
    }
    painter.fillRect(QRectF(x, y + (line - 11) / 2, 11, 11), theme.kind(entry.kind));
    painter.setPen(theme.text);
    painter.drawText(QRectF(x + 17, y, needed, line),
                     static_cast<int>(Qt::AlignVCenter) | static_cast<int>(Qt::TextSingleLine), entry.text);
    x += needed;
  }
  return y + line - topLeft.y();
}

LegendBar::LegendBar(QWidget* parent) : QWidget(parent) {
  setFixedHeight(fontMetrics().height() + 8);
  setAccessibleName(tr("Legend of the timeline"));
}

void LegendBar::setEntries(std::vector<LegendEntry> entries) {
  m_entries = std::move(entries);
  update();
}

void LegendBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const double taken = paintLegend(painter, m_entries, Theme::fromPalette(palette()), QPointF(4, 1), width() - 8);
  // Entries that do not fit beside each other need more lines, or fewer in a wider window; not while painting, though.
  const int needed = std::max(static_cast<int>(taken), fontMetrics().height() + 6) + 2;
  if (needed != height())
    QMetaObject::invokeMethod(
        this, [this, needed] { setFixedHeight(needed); }, Qt::QueuedConnection);
}

}  // namespace plumb::gui
