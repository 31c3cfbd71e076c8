// SPDX-License-Identifier: Apache-2.0
#include "gui/app/render_parts.h"

#include <QFontMetricsF>
#include <QStringList>

#include "gui/timeline/time_scale.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {
namespace {

// "12.5 ms": no more digits than it has.
QString timeText(double ns) {
  QStringList parts = formatTime(ns, 1).split(QLatin1Char(' '));
  while (parts.front().contains('.') && (parts.front().endsWith('0') || parts.front().endsWith('.')))
    parts.front().chop(1);
  return parts.join(QLatin1Char(' '));
}

}  // namespace

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

QImage blank(int width, int height, const Theme& theme) {
  QImage image(width, height, QImage::Format_RGB32);
  image.fill(theme.background);
  return image;
}

QString limitsText(const Filter& filter) {
  QStringList parts;
  if (filter.step) parts << QStringLiteral("step %1").arg(*filter.step);
  if (filter.range) parts << QStringLiteral("range '%1'").arg(toQString(*filter.range));
  if (filter.from) parts << QStringLiteral("from %1").arg(timeText(static_cast<double>(filter.from->ns())));
  if (filter.to) parts << QStringLiteral("to %1").arg(timeText(static_cast<double>(filter.to->ns())));
  return parts.join(QStringLiteral(", "));
}

Error nothingIn(const Filter& filter, const TimeSpan& recorded) {
  return Error{QStringLiteral("Nothing was recorded in what was asked for (%1); what was recorded lies from %2 to %3: "
                              "choose --from and --to within that.")
                   .arg(limitsText(filter), timeText(recorded.startNs), timeText(recorded.endNs))
                   .toStdString()};
}

}  // namespace plumb::gui
