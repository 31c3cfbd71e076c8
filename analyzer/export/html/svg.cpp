// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/html/svg.h"

#include <fmt/format.h>

#include "analyzer/export/html/html_text.h"

namespace plumb::exports {

void Svg::shape(std::string_view element, std::string_view attributes, std::string_view tip) {
  if (tip.empty()) {
    m_body += fmt::format("<{} {}/>\n", element, attributes);
  } else {
    m_body += fmt::format("<{} {}><title>{}</title></{}>\n", element, attributes, html(tip), element);
  }
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view color, std::string_view tip) {
  shape("rect",
        fmt::format(R"(x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}" fill="{}")", x, y, width, height, color),
        tip);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view color, double thickness) {
  shape("line",
        fmt::format(R"(x1="{:.2f}" y1="{:.2f}" x2="{:.2f}" y2="{:.2f}" stroke="{}" stroke-width="{}")", x1, y1, x2, y2,
                    color, thickness),
        {});
}

void Svg::dashedLine(double x1, double y1, double x2, double y2, std::string_view color) {
  shape("line",
        fmt::format(R"(x1="{:.2f}" y1="{:.2f}" x2="{:.2f}" y2="{:.2f}" stroke="{}" stroke-dasharray="5 3")", x1, y1, x2,
                    y2, color),
        {});
}

void Svg::circle(double x, double y, double radius, std::string_view color, std::string_view tip) {
  shape("circle",
        fmt::format(R"(cx="{:.2f}" cy="{:.2f}" r="{:.2f}" fill="{}" fill-opacity="0.75")", x, y, radius, color), tip);
}

void Svg::polygon(std::string_view points, std::string_view color, std::string_view tip) {
  shape("polygon", fmt::format(R"(points="{}" fill="{}")", points, color), tip);
}

void Svg::text(double x, double y, std::string_view text, Anchor anchor, std::string_view color, double size) {
  const char* where = anchor == Anchor::Start ? "start" : anchor == Anchor::Middle ? "middle" : "end";
  m_body += fmt::format(R"(<text x="{:.2f}" y="{:.2f}" text-anchor="{}" fill="{}" font-size="{}">{}</text>)"
                        "\n",
                        x, y, where, color, size, html(text));
}

std::string Svg::finish(std::string_view description) const {
  return fmt::format(R"(<svg viewBox="0 0 {:.0f} {:.0f}" width="{:.0f}" role="img" aria-label="{}">)"
                     "\n{}</svg>\n",
                     m_width, m_height, m_width, html(description), m_body);
}

}  // namespace plumb::exports
