// SPDX-License-Identifier: Apache-2.0
// What the pictures of --render have in common.
#pragma once
#include <QFont>
#include <QImage>
#include <QPainter>
#include <QString>

#include "gui/app/render.h"
#include "gui/timeline/theme.h"
#include "gui/timeline/time_scale.h"

namespace plumb::gui {

inline constexpr double kMargin = 16;  // around a picture
inline constexpr int kMostHeight = 6000;

[[nodiscard]] QFont baseFont();
[[nodiscard]] QImage blank(int width, int height, const Theme& theme);
// Without its folder.
[[nodiscard]] QString fileName(const std::string& path);
// The devices that the timeline has.
[[nodiscard]] QString deviceText(const TraceData& data);
// What a picture is limited to, in the words of the options: "step 3, from 1 ms"; "" : nothing but a rank.
[[nodiscard]] QString limitsText(const Filter& filter);
// That nothing of what was recorded is in those limits.
[[nodiscard]] Error nothingIn(const Filter& filter, const TimeSpan& recorded);
// Title and subtitle at the top; returns the height taken.
double paintTitle(QPainter& painter, const Theme& theme, const QString& title, const QString& subtitle, double width);

[[nodiscard]] Result<QImage> renderTimeline(const TraceData& data, const RenderOptions& options);

}  // namespace plumb::gui
