// SPDX-License-Identifier: Apache-2.0
// A drawing as SVG text. Coordinates in pixels; texts are escaped here.
#pragma once
#include <string>
#include <string_view>

namespace plumb::exports {

class Svg {
 public:
  Svg(double width, double height) : m_width(width), m_height(height) {}

  // `tip` appears when the pointer rests on it; "" for none.
  void rectangle(double x, double y, double width, double height, std::string_view color, std::string_view tip = {});
  void line(double x1, double y1, double x2, double y2, std::string_view color, double thickness = 1);
  void dashedLine(double x1, double y1, double x2, double y2, std::string_view color);
  void circle(double x, double y, double radius, std::string_view color, std::string_view tip = {});
  // The points as in SVG: "1,2 3,4".
  void polygon(std::string_view points, std::string_view color, std::string_view tip = {});
  enum class Anchor { Start, Middle, End };
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::Start,
            std::string_view color = "#1f2933", double size = 11);
  // The whole element; `description` is for those who cannot see it.
  [[nodiscard]] std::string finish(std::string_view description) const;

 private:
  void shape(std::string_view element, std::string_view attributes, std::string_view tip);
  double m_width, m_height;
  std::string m_body;
};

}  // namespace plumb::exports
