// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/elide.h"

#include <QStringList>
#include <algorithm>

namespace plumb::gui {

QString elidedLabel(const QString& label, const QFontMetricsF& metrics, double width) {
  const QString separator = QStringLiteral(" · ");
  const QStringList whole = label.split(separator);
  QStringList parts = whole;
  // What a number with a word before it takes: "thread 4242".
  const double least = metrics.horizontalAdvance(QStringLiteral("thread 42424"));
  for (qsizetype round = 0; round < parts.size(); ++round) {
    const double excess = metrics.horizontalAdvance(parts.join(separator)) - width;
    if (excess <= 0) return parts.join(separator);
    const auto longest = std::max_element(parts.begin(), parts.end(), [&](const QString& a, const QString& b) {
      return metrics.horizontalAdvance(a) < metrics.horizontalAdvance(b);
    });
    const double own = metrics.horizontalAdvance(*longest);
    if (own <= least) break;
    *longest = metrics.elidedText(whole[longest - parts.begin()], Qt::ElideMiddle, std::max(least, own - excess));
  }
  return metrics.elidedText(parts.join(separator), Qt::ElideRight, width);
}

}  // namespace plumb::gui
