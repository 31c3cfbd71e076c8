// SPDX-License-Identifier: Apache-2.0
// Options of the workloads that are floating-point numbers.
#pragma once
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

namespace plumb::nn {

// A finite number above 0 and from least to most; nan, inf and what a float cannot hold are none. Its complaint begins
// with the option's name.
inline CLI::Validator positiveNumber(double least = std::numeric_limits<float>::min(),
                                     double most = std::numeric_limits<float>::max()) {
  return CLI::Validator(
      [least, most](const std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        if (end != text.c_str() && *end == '\0' && std::isfinite(value) && value >= least && value <= most) return {};
        return fmt::format("{} is not a number from {:g} to {:g}", text, least, most);
      },
      "NUMBER > 0");
}

}  // namespace plumb::nn
