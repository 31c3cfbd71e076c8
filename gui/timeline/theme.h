// SPDX-License-Identifier: Apache-2.0
// The colours of all pictures, light and dark. Kinds keep their hue in both.
#pragma once
#include <QColor>
#include <QPalette>
#include <string_view>

#include "analyzer/analyses/timeline_data.h"

namespace plumb::gui {

struct Theme {
  QColor background;
  QColor panel;  // gutter, axis, process headers
  QColor grid;
  QColor text;
  QColor mutedText;
  QColor accent;  // selection
  QColor marker;  // peaks, flags
  bool dark = false;

  [[nodiscard]] static Theme light();
  [[nodiscard]] static Theme fromPalette(const QPalette& palette);

  [[nodiscard]] QColor kind(timeline::SliceKind kind) const;
  // Ranges are coloured by name; names that differ only in numbers ("block 0", "block 1") share a colour.
  [[nodiscard]] QColor range(std::string_view name) const;
  // Distinct colours for series without a meaning of their own.
  [[nodiscard]] QColor series(size_t index) const;
  // Of a memory category; an unknown one is grey.
  [[nodiscard]] QColor memoryCategory(std::string_view category) const;
  // Of a compute type (fp32, bf16 …) or "".
  [[nodiscard]] QColor dtype(std::string_view dtype) const;
};

// Black or white, whichever reads better on fill.
[[nodiscard]] QColor textOn(const QColor& fill);

}  // namespace plumb::gui
