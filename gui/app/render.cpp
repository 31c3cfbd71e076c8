// SPDX-License-Identifier: Apache-2.0
#include "gui/app/render.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "analyzer/trace/device_text.h"
#include "gui/app/render_parts.h"
#include "gui/charts/memory_chart.h"
#include "gui/charts/roofline_chart.h"
#include "gui/pages/absence.h"
#include "gui/pages/scenes.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {
namespace {

// ": step 3" behind a title.
QString limitsInTitle(const RenderOptions& options) {
  const QString limits = limitsText(options.filter);
  return limits.isEmpty() ? limits : QStringLiteral(": ") + limits;
}

// The part of a span that was asked for.
TimeSpan askedSpan(const Interval& asked, const TimeSpan& whole) {
  const double start = std::max(whole.startNs, static_cast<double>(asked.start.ns()));
  return {start, std::max(std::min(whole.endNs, static_cast<double>(asked.end.ns())), start + kShortestSpanNs)};
}

// Before or after all events of the timeline.
bool isBesideAll(const TraceData& data, const Interval& asked) {
  const timeline::Window& extent = data.timeline->extent;
  return data.timeline->sliceCount > 0 && (asked.start.ns() >= extent.endNs || asked.end.ns() <= extent.startNs);
}

bool changes(const DeviceMemory* memory) {
  return std::ranges::any_of(
      memory->points, [&](const MemoryPoint& point) { return point.totalBytes != memory->points.front().totalBytes; });
}

// One below the other from `head` on, each `panel` high.
void paintScenes(QPainter& painter, std::vector<MemoryScene> scenes, double head, double panel, int width) {
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
}

Result<QImage> renderMemory(const TraceData& data, const RenderOptions& options) {
  if (!data.memoryProblem.empty()) return Error{data.memoryProblem};
  std::vector<const DeviceMemory*> shown;
  for (const DeviceMemory& memory : data.memory.devices) {
    if (!memory.points.empty() && (!options.filter.rank || memory.rank == options.filter.rank))
      shown.push_back(&memory);
  }
  if (shown.empty()) {
    return Error{options.filter.rank && data.contents.allocations
                     ? "The trace holds no device allocations of rank " + std::to_string(*options.filter.rank) + "."
                     : whyNoMemory(data).toStdString()};
  }
  if (data.asked && isBesideAll(data, *data.asked) && std::ranges::none_of(shown, changes))
    return nothingIn(options.filter, {static_cast<double>(data.timeline->extent.startNs),
                                      static_cast<double>(data.timeline->extent.endNs)});
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
  const double head = paintTitle(
      painter, theme, QStringLiteral("Device memory of %1").arg(fileName(data.path)) + limitsInTitle(options), subtitle,
      width);
  const double panel = (height - head - kMargin) / static_cast<double>(shown.size());
  std::vector<MemoryScene> scenes;
  for (const DeviceMemory* memory : shown) {
    scenes.push_back(memoryScene(data, *memory));
    if (data.asked) scenes.back().span = askedSpan(*data.asked, scenes.back().span);
  }
  paintScenes(painter, std::move(scenes), head, panel, width);
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
    if (!chosen && (!options.filter.rank || roofline.rank == options.filter.rank)) chosen = &roofline;
  }
  if (!chosen) {
    if (data.contents.kernels && data.asked)
      return Error{"No kernel was launched in what was asked for: choose another time, step or range, or none."};
    return Error{options.filter.rank && data.contents.kernels
                     ? "The trace holds no kernels of rank " + std::to_string(*options.filter.rank) + "."
                     : whyNoRoofline(data).toStdString()};
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
      paintTitle(painter, theme, QStringLiteral("Roofline of %1").arg(fileName(data.path)) + limitsInTitle(options),
                 subtitle, size.width());
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
