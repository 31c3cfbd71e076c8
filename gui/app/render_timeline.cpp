// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "analyzer/analyses/windows.h"
#include "gui/app/render_parts.h"
#include "gui/pages/scenes.h"
#include "gui/timeline/legend.h"
#include "gui/timeline/timeline_painter.h"
#include "gui/timeline/trim.h"

namespace plumb::gui {
namespace {

constexpr int kDefaultWidth = 1600;
constexpr int kReadableHeight = 1500;  // of a picture whose size nobody chose
constexpr double kHead = 66;           // what title and legend take, about
constexpr double kFoot = 72;

// Only the processes of that rank; all when none is asked for.
Result<timeline::Timeline> ofRank(const timeline::Timeline& all, std::optional<int64_t> rank) {
  timeline::Timeline chosen = all;
  if (!rank) return chosen;
  std::erase_if(chosen.processes, [&](const timeline::Process& process) { return process.rank != rank; });
  if (chosen.processes.empty()) return Error{"The trace has no rank " + std::to_string(*rank) + "."};
  std::erase_if(chosen.steps, [&](const timeline::Step& step) {
    return std::none_of(chosen.processes.begin(), chosen.processes.end(),
                        [&](const auto& process) { return process.id == step.processId; });
  });
  timeline::indexTimeline(chosen);
  return chosen;
}

// Tracks with nothing in the window would only take room.
void dropTracksOutside(timeline::Timeline& timeline, const timeline::Window& window) {
  for (timeline::Process& process : timeline.processes) {
    for (timeline::Track& track : process.tracks) {
      for (timeline::Lane& lane : track.lanes) {
        std::erase_if(lane.slices, [&](const timeline::Slice& slice) {
          return slice.endNs() < window.startNs || slice.startNs >= window.endNs;
        });
        timeline::indexLane(lane);
      }
      std::erase_if(track.lanes, [](const timeline::Lane& lane) { return lane.slices.empty(); });
    }
    std::erase_if(process.tracks, [](const timeline::Track& track) { return track.lanes.empty(); });
  }
}

struct Fit {
  LayoutMetrics metrics;
  Folding folding;
};

// What makes everything fit into height: lower lanes first, then the host's tracks and at last all but the streams
// folded to a thin line. May fail to fit all the same.
Fit fitting(const timeline::Timeline& timeline, double height) {
  using timeline::TrackKind;
  Fit fit;
  const auto tooHigh = [&] { return TrackLayout(timeline, fit.metrics, fit.folding).height() > height; };
  while (fit.metrics.laneHeight > 13 && tooHigh()) {
    fit.metrics.laneHeight -= 1;
    fit.metrics.trackGap = std::max(3.0, fit.metrics.trackGap - 0.5);
  }
  for (const auto& kinds : {std::vector{TrackKind::kOsCalls}, std::vector{TrackKind::kRanges, TrackKind::kApiCalls},
                            std::vector{TrackKind::kProjection, TrackKind::kCollectives, TrackKind::kSteps}}) {
    if (!tooHigh()) break;
    for (uint32_t p = 0; p < timeline.processes.size(); ++p) {
      const auto& tracks = timeline.processes[p].tracks;
      for (uint32_t t = 0; t < tracks.size(); ++t) {
        if (std::find(kinds.begin(), kinds.end(), tracks[t].kind) != kinds.end()) fit.folding.tracks.insert({p, t});
      }
    }
  }
  return fit;
}

// What of a timeline was left out so that its picture can be looked at.
struct LeftOut {
  size_t levels = 0, processes = 0;
  [[nodiscard]] QString text() const {
    QString text;
    if (processes > 0) text += QStringLiteral(" · without those that have no GPU work");
    if (levels > 0) text += QStringLiteral(" · %1 levels of nested ranges left out").arg(levels);
    return text;
  }
};
LeftOut makeReadable(timeline::Timeline& timeline, double height) {
  LeftOut left;
  const auto tooHigh = [&] { return TrackLayout(timeline, LayoutMetrics(), Folding()).height() > height; };
  if (tooHigh()) left.processes = dropProcessesWithoutWork(timeline);
  if (tooHigh()) left.levels = dropEnclosingLevels(timeline);
  for (const size_t most : {24, 16, 12, 8}) {
    if (tooHigh()) left.levels += dropDeepLevels(timeline, most);
  }
  return left;
}

// What was asked for without the time before and after it in which nothing was recorded.
timeline::Window askedWindow(const Interval& asked, const timeline::Timeline& shown) {
  const timeline::Window main = timeline::mainPart(shown).window;
  timeline::Window window{asked.start.ns(), asked.end.ns()};
  if (window.startNs == kAllTime.start.ns())
    window.startNs = main.startNs < window.endNs ? main.startNs : shown.extent.startNs;
  if (window.endNs == kAllTime.end.ns()) window.endNs = main.endNs > window.startNs ? main.endNs : shown.extent.endNs;
  return window;
}

// The part of a timeline that its picture shows.
struct Part {
  timeline::Window window;
  QString what;
  size_t outside = 0;  // slices that nobody asked to leave out
};

Part partOf(const TraceData& data, const timeline::Timeline& shown, const Filter& filter) {
  if (data.asked) return {askedWindow(*data.asked, shown), limitsText(filter)};
  // What hangs is not in a step like the others.
  const QString whole = QStringLiteral("whole recording");
  if (!data.open.empty()) return {shown.extent, whole};
  if (!shown.steps.empty()) return {timeline::steadyWindow(shown), QStringLiteral("one training step")};
  const timeline::MainPart main = filter.rank ? timeline::mainPart(shown) : data.mainPart;
  const size_t outside = main.before + main.after;
  return {main.window, outside > 0 ? placeOf(main) : whole, outside};
}

// Only what happened in that time. Tracks and processes with nothing in it would only take room.
Status limitTo(timeline::Timeline& shown, const Part& part, const Filter& filter) {
  const TimeSpan recorded{static_cast<double>(shown.extent.startNs), static_cast<double>(shown.extent.endNs)};
  dropTracksOutside(shown, part.window);
  std::erase_if(shown.processes, [](const timeline::Process& process) { return process.tracks.empty(); });
  if (shown.processes.empty()) return nothingIn(filter, recorded);
  return Unit{};
}

QString subtitleOf(const TraceData& data, const timeline::Timeline& shown, const Part& part, const LeftOut& left) {
  QString text =
      QStringLiteral("%1 of %2 processes%6 · %3 shown of %4 recorded · %5")
          .arg(shown.processes.size())
          .arg(data.timeline->processes.size())
          .arg(formatDuration(static_cast<double>(part.window.endNs - part.window.startNs)),
               formatDuration(static_cast<double>(data.timeline->extent.endNs - data.timeline->extent.startNs)),
               deviceText(data), left.text());
  if (!data.open.empty()) text += QStringLiteral(" · %1 collectives have not ended").arg(data.open.size());
  if (part.outside > 0)
    text += part.outside == 1
                ? QStringLiteral(" · 1 event lies far away (--from and --to show it)")
                : QStringLiteral(" · %L1 events lie far away (--from and --to show them)").arg(part.outside);
  return text;
}

// The timeline itself, between title and legend. Returns its scene.
TimelineScene paintPart(QPainter& painter, const timeline::Timeline& shown, const Part& part, const TrackLayout& layout,
                        double head, QSizeF size) {
  TimelineScene scene;
  scene.timeline = &shown;
  scene.layout = &layout;
  scene.span = {static_cast<double>(part.window.startNs), static_cast<double>(part.window.endNs)};
  scene.gutterWidth = std::min(200.0, (size.width() + 2 * kMargin) * 0.25);
  scene.size = size;
  scene.foldable = false;
  painter.save();
  painter.translate(kMargin, head);
  painter.setClipRect(QRectF(QPointF(0, 0), scene.size));
  QFont font = painter.font();
  font.setPixelSize(std::clamp(static_cast<int>(layout.metrics().laneHeight) - 3, 9, 12));
  painter.setFont(font);
  paintTimeline(painter, scene);
  painter.restore();
  painter.setPen(scene.theme.grid.darker(110));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(QRectF(QPointF(kMargin - 0.5, head - 0.5), scene.size));
  return scene;
}

}  // namespace

Result<QImage> renderTimeline(const TraceData& data, const RenderOptions& options) {
  if (data.timeline->sliceCount == 0) return Error{"The trace holds no events, so there is no timeline to draw."};
  auto chosen = ofRank(*data.timeline, options.filter.rank);
  if (!chosen.ok()) return chosen.error();
  timeline::Timeline& shown = chosen.value();
  const Part part = partOf(data, shown, options.filter);
  if (const Status limited = limitTo(shown, part, options.filter); !limited.ok()) return limited.error();

  const Theme theme = Theme::light();
  const double axis = TimelineScene{}.axisHeight;
  const double room = (options.size ? options.size->height() : kReadableHeight) - kHead - kFoot - axis;
  const LeftOut left = options.size ? LeftOut() : makeReadable(shown, room);
  const Fit fit = fitting(shown, room);
  const TrackLayout layout(shown, fit.metrics, fit.folding);
  const int width = options.size ? options.size->width() : kDefaultWidth;
  const int height =
      options.size ? options.size->height()
                   : std::clamp(static_cast<int>(std::ceil(layout.height() + kHead + kFoot + axis)), 320, kMostHeight);

  QImage image = blank(width, height, theme);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::TextAntialiasing);
  painter.setFont(baseFont());
  const double head =
      paintTitle(painter, theme, QStringLiteral("Timeline of %1: %2").arg(fileName(data.path), part.what),
                 subtitleOf(data, shown, part, left), width);
  const TimelineScene scene =
      paintPart(painter, shown, part, layout, head, QSizeF(width - 2 * kMargin, std::max(60.0, height - head - kFoot)));
  const double legendTop = head + scene.size.height() + 8;
  const double taken = paintLegend(painter, legendOf(shown), theme, QPointF(kMargin, legendTop), width - 2 * kMargin);
  if (layout.height() > scene.plot().height() + 1 && legendTop + taken + 16 < height) {
    painter.setPen(theme.marker);
    painter.drawText(
        QPointF(kMargin, legendTop + taken + 12),
        QStringLiteral("Not everything fits into this height: leave --size out, or open the file in plumb-gui."));
  }
  return image;
}

}  // namespace plumb::gui
