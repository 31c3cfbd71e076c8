// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/track_layout.h"

#include <algorithm>

namespace plumb::gui {

TrackLayout::TrackLayout(const timeline::Timeline& timeline, const LayoutMetrics& metrics, const Folding& folding)
    : m_metrics(metrics) {
  double y = 0;
  for (uint32_t p = 0; p < timeline.processes.size(); ++p) {
    const bool folded = folding.processes.contains(p);
    m_rows.push_back({RowKind::kProcess, p, 0, y, metrics.headerHeight, folded});
    y += metrics.headerHeight + metrics.trackGap;
    const auto& tracks = timeline.processes[p].tracks;
    for (uint32_t t = 0; !folded && t < tracks.size(); ++t) {
      const bool thin = folding.tracks.contains({p, t});
      const double lanes = static_cast<double>(std::max<size_t>(1, tracks[t].lanes.size()));
      const double height = thin ? metrics.collapsedHeight : lanes * metrics.laneHeight;
      m_rows.push_back({RowKind::kTrack, p, t, y, height, thin});
      y += height + metrics.trackGap;
    }
    y += metrics.processGap;
  }
  m_height = y;
}

size_t TrackLayout::firstRowBelow(double y) const {
  const auto it =
      std::partition_point(m_rows.begin(), m_rows.end(), [y](const Row& row) { return row.y + row.height <= y; });
  return static_cast<size_t>(it - m_rows.begin());
}

const Row* TrackLayout::rowAt(double y) const {
  const size_t index = firstRowBelow(y);
  return index < m_rows.size() && m_rows[index].y <= y ? &m_rows[index] : nullptr;
}

const Row* TrackLayout::trackRow(uint32_t process, uint32_t track) const {
  for (const Row& row : m_rows) {
    if (row.kind == RowKind::kTrack && row.process == process && row.track == track) return &row;
  }
  return nullptr;
}

double TrackLayout::laneHeight(const Row& row) const {
  return row.collapsed ? m_metrics.collapsedHeight : m_metrics.laneHeight;
}

double TrackLayout::laneTop(const Row& row, uint32_t lane) const {
  return row.collapsed ? row.y : row.y + lane * m_metrics.laneHeight;
}

std::optional<uint32_t> TrackLayout::laneAt(const Row& row, double y, size_t lanes) const {
  if (row.kind != RowKind::kTrack || y < row.y || y >= row.y + row.height || lanes == 0) return std::nullopt;
  if (row.collapsed) return 0;
  return static_cast<uint32_t>(std::min<double>((y - row.y) / m_metrics.laneHeight, static_cast<double>(lanes - 1)));
}

}  // namespace plumb::gui
