// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <exception>

#include "analyzer/trace/connection_state.h"
#include "analyzer/trace/sqlite_api.h"
#include "analyzer/trace/text_parts.h"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 10> kResources = {"fp64", "fp32",   "tf32",    "fp16",   "bf16",
                                                         "fp8",  "memory", "network", "nvlink", "pcie"};

// Of a unit's first letter; 0: none.
double scaleOf(char letter) {
  switch (letter) {
    case 'k':
    case 'K':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
      return 1e9;
    case 'T':
      return 1e12;
    case 'P':
      return 1e15;
    default:
      return 0;
  }
}

Status give(ConnectionState& state, const std::string& resource, std::optional<double> perSecond) {
  if (std::ranges::find(kResources, resource) == kResources.end()) {
    return Error{fmt::format("There is no peak of {}; there are: {}.", resource, fmt::join(kResources, ", "))};
  }
  if (perSecond && !(*perSecond > 0 && std::isfinite(*perSecond))) {
    return Error{fmt::format("The peak of {} must be above 0.", resource)};
  }
  if (perSecond) {
    state.peaks[resource] = *perSecond;
  } else {
    state.peaks.erase(resource);
  }
  ++state.revision;
  return Unit{};
}

void givePeakInSql(sqlite3_context* context, int, sqlite3_value** arguments) noexcept {
  try {
    auto& state = *static_cast<ConnectionState*>(sqlite3_user_data(context));
    const auto textOf = [](sqlite3_value* value) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
      return std::string(text ? text : "");
    };
    std::optional<double> perSecond;
    if (sqlite3_value_type(arguments[1]) == SQLITE_TEXT) {
      const auto rate = parseRate(textOf(arguments[1]));
      if (!rate.ok()) return sqlite3_result_error(context, rate.error().message.c_str(), -1);
      perSecond = rate.value();
    } else if (sqlite3_value_type(arguments[1]) != SQLITE_NULL) {
      perSecond = sqlite3_value_double(arguments[1]);
    }
    const Status given = give(state, textOf(arguments[0]), perSecond);
    if (!given.ok()) return sqlite3_result_error(context, given.error().message.c_str(), -1);
    if (!perSecond) return sqlite3_result_null(context);
    sqlite3_result_double(context, *perSecond);
  } catch (const std::exception&) {
    sqlite3_result_error_nomem(context);
  }
}

}  // namespace

Result<double> parseRate(std::string_view text) {
  const std::string_view all = trimmed(text);
  double number = 0;
  const auto [end, failed] = std::from_chars(all.data(), all.data() + all.size(), number);
  const Error wrong{fmt::format("'{}' is no rate: write 450GB/s, 3.35TB/s, 989TFLOPS, or a number per second.", text)};
  if (failed != std::errc()) return wrong;
  std::string_view unit = trimmed(all.substr(static_cast<size_t>(end - all.data())));
  if (unit.empty()) return number;
  if (const double scale = scaleOf(unit.front()); scale > 0) {
    number *= scale;
    unit.remove_prefix(1);
  }
  if (unit == "B/s" || unit == "FLOPS" || unit == "FLOP/s") return number;
  return wrong;
}

const std::map<std::string, double>& givenPeaks(Database& database) { return database.state().peaks; }

Status givePeak(Database& database, const std::string& resource, std::optional<double> perSecond) {
  return give(database.state(), resource, perSecond);
}

Status givePeak(Database& database, std::string_view text) {
  const size_t mark = text.find('=');
  if (mark == std::string_view::npos) {
    return Error{fmt::format("'{}' is no peak: write RESOURCE=RATE, as in network=450GB/s.", text)};
  }
  const auto rate = parseRate(text.substr(mark + 1));
  if (!rate.ok()) return rate.error();
  return givePeak(database, std::string(trimmed(text.substr(0, mark))), rate.value());
}

Status registerPeakFunction(Database& database) {
  const int result = sqlite3_create_function_v2(database.handle(), "plumb_peak", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                                &database.state(), givePeakInSql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return Error{"The SQL function plumb_peak cannot be added."};
  return Unit{};
}

}  // namespace plumb
