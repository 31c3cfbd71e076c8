// SPDX-License-Identifier: Apache-2.0
#include "gui/app/render.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "analyzer/trace/device_text.h"
#include "gui/charts/memory_chart.h"
#include "gui/charts/roofline_chart.h"
#include "gui/pages/scenes.h"
#include "gui/timeline/legend.h"
#include "gui/timeline/timeline_painter.h"
#include "gui/timeline/trim.h"

namespace plumb::gui {
namespace {

constexpr double kMargin = 16;
constexpr int kDefaultWidth = 1600;
constexpr int kMostHeight = 6000;
constexpr int kReadableHeight = 1500;  // of a timeline whose size nobody chose

QFont baseFont() {
  QFont font;
  font.setPixelSize(12);
  return font;
}

QString fileName(const std::string& path) {
  const QString text = toQString(path);
  return text.mid(text.lastIndexOf('/') + 1);
}

QString deviceText(const TraceData& data) {
  QStringList names;
  for (const std::string& name : data.timeline->devices) names << toQString(name);
  if (names.isEmpty()) return QStringLiteral("no device recorded");
  QString text = names.join(QStringLiteral(", "));
  if (data.timeline->softwareDevice) text += QStringLiteral(" – durations are CPU time");
  return text;
}

// Title and subtitle at the top; returns the height taken.
double paintTitle(QPainter& painter, const Theme& theme, const QString& title, const QString& subtitle, double width) {
  QFont font = painter.font();
  const QFont plain = font;
  font.setPixelSize(18);
  font.setBold(true);
  painter.setFont(font);
  painter.setPen(theme.text);
  const QFontMetricsF large(font);
  painter.drawText(QPointF(kMargin, kMargin + large.ascent()),
                   large.elidedText(title, Qt::ElideMiddle, width - 2 * kMargin));
  painter.setFont(plain);
  painter.setPen(theme.mutedText);
  const QFontMetricsF small(plain);
  painter.drawText(QPointF(kMargin, kMargin + large.height() + 3 + small.ascent()),
                   small.elidedText(subtitle, Qt::ElideRight, width - 2 * kMargin));
  return kMargin + large.height() + 3 + small.height() + 10;
}

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

Result<QImage> renderTimeline(const TraceData& data, const RenderOptions& options) {
  if (data.timeline->sliceCount == 0) return Error{"The trace holds no events, so there is no timeline to draw."};
  auto chosen = ofRank(*data.timeline, options.rank);
  if (!chosen.ok()) return chosen.error();
  timeline::Timeline& shown = chosen.value();
  // What hangs is not in a step like the others.
  const timeline::Window window = data.open.empty() ? timeline::steadyWindow(shown) : shown.extent;
  const bool oneStep = data.open.empty() && !shown.steps.empty();
  dropTracksOutside(shown, window);

  constexpr double kHead = 66;
  constexpr double kFoot = 72;
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

  QImage image(width, height, QImage::Format_RGB32);
  image.fill(theme.background);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::TextAntialiasing);
  painter.setFont(baseFont());
  const QString what = oneStep ? QStringLiteral("one training step") : QStringLiteral("whole recording");
  const QString subtitle =
      QStringLiteral("%1 of %2 processes%6 · %3 shown of %4 recorded · %5")
          .arg(shown.processes.size())
          .arg(data.timeline->processes.size())
          .arg(formatDuration(static_cast<double>(window.endNs - window.startNs)),
               formatDuration(static_cast<double>(data.timeline->extent.endNs - data.timeline->extent.startNs)),
               deviceText(data), left.text()) +
      (data.open.empty() ? QString() : QStringLiteral(" · %1 collectives have not ended").arg(data.open.size()));
  const double head =
      paintTitle(painter, theme, QStringLiteral("Timeline of %1: %2").arg(fileName(data.path), what), subtitle, width);

  TimelineScene scene;
  scene.timeline = &shown;
  scene.layout = &layout;
  scene.span = {static_cast<double>(window.startNs), static_cast<double>(window.endNs)};
  scene.gutterWidth = std::min(200.0, width * 0.25);
  scene.size = QSizeF(width - 2 * kMargin, std::max(60.0, height - head - kFoot));
  scene.theme = theme;
  scene.foldable = false;
  painter.save();
  painter.translate(kMargin, head);
  painter.setClipRect(QRectF(QPointF(0, 0), scene.size));
  QFont font = painter.font();
  font.setPixelSize(std::clamp(static_cast<int>(fit.metrics.laneHeight) - 3, 9, 12));
  painter.setFont(font);
  paintTimeline(painter, scene);
  painter.restore();
  painter.setPen(theme.grid.darker(110));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(QRectF(QPointF(kMargin - 0.5, head - 0.5), scene.size));
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

QImage blank(int width, int height, const Theme& theme) {
  QImage image(width, height, QImage::Format_RGB32);
  image.fill(theme.background);
  return image;
}

Result<QImage> renderMemory(const TraceData& data, const RenderOptions& options) {
  if (!data.memoryProblem.empty()) return Error{data.memoryProblem};
  std::vector<const DeviceMemory*> shown;
  for (const DeviceMemory& memory : data.memory.devices) {
    if (!memory.points.empty() && (!options.rank || memory.rank == options.rank)) shown.push_back(&memory);
  }
  if (shown.empty()) {
    return Error{options.rank
                     ? "The trace holds no device allocations of rank " + std::to_string(*options.rank) + "."
                     : std::string("The trace holds no device allocations, so there is no memory chart to draw.")};
  }
  constexpr double kHead = 70;
  constexpr double kLeast = 170;
  const int width = options.size ? options.size->width() : 1400;
  const double wanted = shown.size() == 1 ? 460 : 300;
  const int height =
      options.size
          ? options.size->height()
          : std::min(kMostHeight, static_cast<int>(kHead + wanted * static_cast<double>(shown.size()) + kMargin));
  const size_t fits = std::max<size_t>(1, static_cast<size_t>((height - kHead - kMargin) / kLeast));
  const size_t left = shown.size() > fits ? shown.size() - fits : 0;
  shown.resize(std::min(shown.size(), fits));

  const Theme theme = Theme::light();
  QImage image = blank(width, height, theme);
  QPainter painter(&image);
  painter.setFont(baseFont());
  QString subtitle = QStringLiteral(
                         "live device allocations by what the program declared them to be, else by who allocated them, "
                         "at the time of the "
                         "host's calls · %1")
                         .arg(deviceText(data));
  if (left > 0) subtitle += QStringLiteral(" · %1 more ranks do not fit: use --rank or a larger --size").arg(left);
  const double head =
      paintTitle(painter, theme, QStringLiteral("Device memory of %1").arg(fileName(data.path)), subtitle, width);
  const double panel = (height - head - kMargin) / static_cast<double>(shown.size());
  std::vector<MemoryScene> scenes;
  for (const DeviceMemory* memory : shown) scenes.push_back(memoryScene(data, *memory));
  const double top = sharedTop(scenes);  // one scale, so that ranks can be compared by eye
  for (size_t i = 0; i < scenes.size(); ++i) {
    MemoryScene& scene = scenes[i];
    scene.topBytes = top;
    scene.area = QRectF(kMargin, head + panel * static_cast<double>(i), width - 2 * kMargin, panel - 6);
    // Changes that are too close together to be seen in the whole are shown a second time, from near.
    const auto near = peakSpan(*scene.memory, scene.steps);
    if (near && width >= 1000 && near->length() < scene.span.length() / 4) {
      MemoryScene whole = scene;
      whole.withLegend = false;
      whole.area.setWidth(scene.area.width() * 0.46);
      paintMemory(painter, whole);
      scene.area.setLeft(whole.area.right());
      scene.span = *near;
      scene.title = QStringLiteral("around the peak: %1").arg(formatDuration(near->length()));
      scene.steps.clear();
    }
    paintMemory(painter, scene);
  }
  return image;
}

// The longest points as a table at the right: number, operation, share of the time, rate, verdict.
void paintPointList(QPainter& painter, const DeviceRoofline& roofline, const Theme& theme, const QRectF& area,
                    int most) {
  const QFontMetricsF metrics(painter.font());
  constexpr int kLine = static_cast<int>(Qt::AlignVCenter) | static_cast<int>(Qt::TextSingleLine);
  const double row = 2 * metrics.height() + 9;
  double total = static_cast<double>((roofline.knownDuration + roofline.unknownDuration).ns());
  double y = area.top();
  QFont bold = painter.font();
  const QFont plain = bold;
  bold.setBold(true);
  painter.setFont(bold);
  painter.setPen(theme.text);
  const auto isAbsent = [](const RooflinePoint& point) {
    return point.intensity.value_or(0) <= 0 || point.flopsPerSecond.value_or(0) <= 0;
  };
  painter.drawText(QRectF(area.left(), y, area.width(), 20), kLine, QStringLiteral("longest operations"));
  const double titled = metrics.horizontalAdvance(QStringLiteral("longest operations ")) * 1.15;
  painter.setFont(plain);
  if (std::ranges::any_of(roofline.points, isAbsent))
    painter.drawText(QRectF(area.left() + titled, y, area.width() - titled, 20), kLine,
                     QStringLiteral("(n): not on the chart"));
  painter.setFont(plain);
  y += 26;
  for (int i = 0; i < std::min<int>(most, static_cast<int>(roofline.points.size())); ++i) {
    if (y + row > area.bottom()) break;
    const RooflinePoint& point = roofline.points[static_cast<size_t>(i)];
    painter.fillRect(QRectF(area.left(), y + 2, 4, row - 8), theme.dtype(point.precision));
    painter.setPen(theme.mutedText);
    painter.drawText(QRectF(area.left() + 10, y, 26, metrics.height()), kLine,
                     QString(isAbsent(point) ? "(%1)" : "%1").arg(i + 1));
    painter.setPen(theme.text);
    const std::string name = titleOf(point);
    painter.drawText(QRectF(area.left() + 38, y, area.width() - 38, metrics.height()), kLine,
                     metrics.elidedText(toQString(name), Qt::ElideRight, area.width() - 38));
    QStringList parts;
    if (total > 0)
      parts << QStringLiteral("%1 % of time").arg(static_cast<double>(point.duration.ns()) / total * 100, 0, 'f', 1);
    if (point.flops <= 0 && point.bytesPerSecond)
      parts << QStringLiteral("%1B/s").arg(formatSi(*point.bytesPerSecond));
    else if (point.flopsPerSecond)
      parts << QStringLiteral("%1FLOP/s").arg(formatSi(*point.flopsPerSecond));
    if (!point.intensity) parts << QStringLiteral("bytes unknown");
    const std::string_view verdict = nameOf(point.verdict);
    parts << QString::fromUtf8(verdict.data(), static_cast<qsizetype>(verdict.size()));
    painter.setPen(point.verdict == Verdict::AboveRoof ? theme.marker : theme.mutedText);
    painter.drawText(QRectF(area.left() + 38, y + metrics.height() + 1, area.width() - 38, metrics.height()), kLine,
                     metrics.elidedText(parts.join(QStringLiteral(" · ")), Qt::ElideRight, area.width() - 38));
    y += row;
  }
}

Result<QImage> renderRoofline(const TraceData& data, const RenderOptions& options) {
  if (!data.rooflineProblem.empty()) return Error{data.rooflineProblem};
  const DeviceRoofline* chosen = nullptr;
  for (const DeviceRoofline& roofline : data.rooflines) {
    if (!chosen && (!options.rank || roofline.rank == options.rank)) chosen = &roofline;
  }
  if (!chosen) {
    return Error{options.rank ? "The trace holds no kernels of rank " + std::to_string(*options.rank) + "."
                              : std::string("The trace holds no kernels, so there is no roofline to draw.")};
  }
  const QSize size = options.size.value_or(QSize(1500, 820));
  const Theme theme = Theme::light();
  QImage image = blank(size.width(), size.height(), theme);
  QPainter painter(&image);
  painter.setFont(baseFont());
  const Device* device = data.device(chosen->device);
  const size_t processes = data.processes.size();
  QString who = chosen->rank ? QStringLiteral("rank %1").arg(*chosen->rank) : QStringLiteral("the first process");
  if (processes > 1) who += QStringLiteral(" of %1 processes").arg(processes);
  if (processes == 1 && !chosen->rank) who = QStringLiteral("the only process");
  const QString subtitle = QStringLiteral("%1 · %2 · one mark for each operation and kernel")
                               .arg(who)
                               .arg(device ? toQString(plumb::deviceText(*device)) : QStringLiteral("unknown device"));
  const double head =
      paintTitle(painter, theme, QStringLiteral("Roofline of %1").arg(fileName(data.path)), subtitle, size.width());
  const double list = size.width() >= 1200 ? 346 : 0;
  RooflineScene scene;
  scene.roofline = chosen;
  scene.softwareDevice = device && device->isSoftware;
  scene.area = QRectF(kMargin, head, size.width() - 2 * kMargin - list, size.height() - head - 8);
  scene.theme = theme;
  paintRoofline(painter, scene);
  if (list > 0)
    paintPointList(painter, *chosen, theme,
                   QRectF(size.width() - kMargin - list + 20, head, list - 20, size.height() - head - kMargin),
                   scene.numbered);
  return image;
}

}  // namespace

Result<QImage> render(const TraceData& data, const RenderOptions& options) {
  switch (options.picture) {
    case Picture::kTimeline:
      return renderTimeline(data, options);
    case Picture::kMemory:
      return renderMemory(data, options);
    case Picture::kRoofline:
      return renderRoofline(data, options);
  }
  return Error{"There is no such picture."};
}

}  // namespace plumb::gui
