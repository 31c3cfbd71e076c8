// SPDX-License-Identifier: Apache-2.0
// Where each track is, top to bottom. Pure arithmetic.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/analyses/timeline_data.h"

namespace plumb::gui {

struct LayoutMetrics {
  double headerHeight = 22;  // a process
  double laneHeight = 18;
  double trackGap = 5;    // below a track
  double processGap = 8;  // below a process
  double collapsedHeight = 10;
};

enum class RowKind { kProcess, kTrack };

struct Row {
  RowKind kind = RowKind::kTrack;
  uint32_t process = 0;
  uint32_t track = 0;  // kTrack
  double y = 0;
  double height = 0;
  bool collapsed = false;
};

// What is folded: processes as a whole, and tracks to one thin lane.
struct Folding {
  std::set<uint32_t> processes;
  std::set<std::pair<uint32_t, uint32_t>> tracks;
  friend bool operator==(const Folding&, const Folding&) = default;
};

class TrackLayout {
 public:
  TrackLayout() = default;
  TrackLayout(const timeline::Timeline& timeline, const LayoutMetrics& metrics, const Folding& folding);

  [[nodiscard]] const std::vector<Row>& rows() const { return m_rows; }
  [[nodiscard]] const LayoutMetrics& metrics() const { return m_metrics; }
  [[nodiscard]] double height() const { return m_height; }
  // The row that contains y; null between rows and outside.
  [[nodiscard]] const Row* rowAt(double y) const;
  [[nodiscard]] const Row* trackRow(uint32_t process, uint32_t track) const;
  // The lane of a row at y. A collapsed row has only lane 0 .. see laneTop.
  [[nodiscard]] std::optional<uint32_t> laneAt(const Row& row, double y, size_t lanes) const;
  [[nodiscard]] double laneTop(const Row& row, uint32_t lane) const;
  [[nodiscard]] double laneHeight(const Row& row) const;
  // The first row whose bottom is below y: where painting begins.
  [[nodiscard]] size_t firstRowBelow(double y) const;

 private:
  LayoutMetrics m_metrics;
  std::vector<Row> m_rows;
  double m_height = 0;
};

}  // namespace plumb::gui
