// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/theme.h"

#include <array>
#include <cctype>
#include <utility>

namespace plumb::gui {
namespace {

using timeline::SliceKind;

double luminance(const QColor& color) { return 0.299 * color.redF() + 0.587 * color.greenF() + 0.114 * color.blueF(); }

// On dark ground the same hues, less bright.
QColor adapted(const QColor& color, bool dark) { return dark ? color.darker(125) : color; }

constexpr std::array<QRgb, 13> kRangeColors{0xffc9d8ee, 0xffcfe5d3, 0xfff1dcc0, 0xffe2d3ea, 0xffcce4e6,
                                            0xfff0d0d0, 0xffe3e3c4, 0xffd5dbe3, 0xffe9d9cd, 0xffd8d6f0,
                                            0xffdcead0, 0xfff3e6b8, 0xffeccfe0};
constexpr std::array<QRgb, 9> kSeriesColors{0xff4c86c6, 0xffe08a3c, 0xff5aa469, 0xff8f6fc0, 0xffd1606b,
                                            0xff3aa39a, 0xffc2a23a, 0xff7d8b99, 0xffa8745a};

}  // namespace

Theme Theme::light() {
  return {QColor(0xff, 0xff, 0xff), QColor(0xf5, 0xf6, 0xf8), QColor(0xe3, 0xe6, 0xea), QColor(0x1f, 0x29, 0x33),
          QColor(0x66, 0x70, 0x7c), QColor(0x1d, 0x4e, 0xd8), QColor(0xc0, 0x39, 0x2b), false};
}

Theme Theme::fromPalette(const QPalette& palette) {
  if (luminance(palette.color(QPalette::Window)) >= 0.5) return light();
  return {QColor(0x1d, 0x20, 0x25), QColor(0x27, 0x2b, 0x31), QColor(0x38, 0x3e, 0x46), QColor(0xe6, 0xe9, 0xed),
          QColor(0x9a, 0xa5, 0xb1), QColor(0x7a, 0xa7, 0xff), QColor(0xff, 0x8a, 0x7a), true};
}

QColor Theme::kind(SliceKind sliceKind) const {
  const auto color = [sliceKind]() -> QColor {
    switch (sliceKind) {
      case SliceKind::kStep:
        return QColor(0xc3, 0xcd, 0xd8);
      case SliceKind::kRange:
        return QColor(0xc9, 0xd8, 0xee);
      case SliceKind::kApiCall:
        return QColor(0xb4, 0xa5, 0xd4);
      case SliceKind::kSynchronization:
        return QColor(0xdb, 0x92, 0xa5);
      case SliceKind::kKernel:
        return QColor(0x5b, 0x92, 0xce);
      case SliceKind::kCommunication:
        return QColor(0xe3, 0x8b, 0x3b);
      case SliceKind::kCopy:
        return QColor(0x3f, 0xa7, 0x8f);
      case SliceKind::kSet:
        return QColor(0x9a, 0xb8, 0x6a);
      case SliceKind::kCollective:
        return QColor(0xf0, 0xb4, 0x7a);
      case SliceKind::kStuck:
        return QColor(0xd6, 0x45, 0x3d);
      case SliceKind::kOsCall:
        return QColor(0xbf, 0xb8, 0xa8);
    }
    return QColor(0x99, 0x99, 0x99);
  }();
  return adapted(color, dark);
}

QColor Theme::range(std::string_view name) const {
  uint32_t hash = 2166136261U;
  for (const char c : name) {
    if (std::isdigit(static_cast<unsigned char>(c))) continue;
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  const QColor color = QColor::fromRgb(kRangeColors[hash % kRangeColors.size()]);
  return dark ? color.darker(190) : color;
}

QColor Theme::series(size_t index) const {
  return adapted(QColor::fromRgb(kSeriesColors[index % kSeriesColors.size()]), dark);
}

QColor Theme::memoryCategory(std::string_view category) const {
  static constexpr std::array<std::pair<std::string_view, QRgb>, 9> kColors{{{"parameter", 0xff4c86c6},
                                                                             {"gradient", 0xff8f6fc0},
                                                                             {"optimizer_state", 0xff5aa469},
                                                                             {"activation", 0xffd9a441},
                                                                             {"input", 0xff3aa3a9},
                                                                             {"communication_buffer", 0xffe07b3c},
                                                                             {"workspace", 0xffc96a8a},
                                                                             {"cached", 0xffb8c4cf},
                                                                             {"unattributed", 0xff8a949e}}};
  for (const auto& [name, color] : kColors) {
    if (name == category) return adapted(QColor::fromRgb(color), dark);
  }
  return adapted(QColor(0x8a, 0x94, 0x9e), dark);
}

QColor Theme::dtype(std::string_view dtype) const {
  static constexpr std::array<std::pair<std::string_view, QRgb>, 6> kColors{{{"fp64", 0xff7d8b99},
                                                                             {"fp32", 0xff4c86c6},
                                                                             {"tf32", 0xff5aa469},
                                                                             {"fp16", 0xff8f6fc0},
                                                                             {"bf16", 0xffe08a3c},
                                                                             {"fp8", 0xffd1606b}}};
  for (const auto& [name, color] : kColors) {
    if (name == dtype) return adapted(QColor::fromRgb(color), dark);
  }
  return adapted(QColor(0x8a, 0x94, 0x9e), dark);
}

QColor textOn(const QColor& fill) {
  return luminance(fill) > 0.5 ? QColor(0x1b, 0x22, 0x2a) : QColor(0xff, 0xff, 0xff);
}

}  // namespace plumb::gui
