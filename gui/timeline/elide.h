// SPDX-License-Identifier: Apache-2.0
// Shortening the names of ranks and tracks, so that they can still be told apart.
#pragma once
#include <QFontMetricsF>
#include <QString>

namespace plumb::gui {

// A label made of parts joined by " · ": the longest parts are cut in their middle first, so that the short ones, which
// hold the numbers of ranks, streams and threads, stay whole.
[[nodiscard]] QString elidedLabel(const QString& label, const QFontMetricsF& metrics, double width);

}  // namespace plumb::gui
