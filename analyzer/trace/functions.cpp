// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/functions.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/row_scan.h"
#include "analyzer/trace/sqlite_api.h"

namespace plumb {
namespace {

constexpr int kLongestSymbol = 20'000;

struct Sample {
  std::vector<double> values;
  std::optional<double> parameter;  // the second argument: of percentile and histogram
};

// SQLite gives zeroed memory of our size for each group; it holds a pointer, because SQLite runs no destructors.
Sample** sampleOf(sqlite3_context* context) {
  return static_cast<Sample**>(sqlite3_aggregate_context(context, sizeof(Sample*)));
}

void collect(sqlite3_context* context, int count, sqlite3_value** arguments) noexcept {
  if (sqlite3_value_type(arguments[0]) == SQLITE_NULL) return;
  for (int i = 0; i < count; ++i) {
    const int type = sqlite3_value_numeric_type(arguments[i]);
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT || type == SQLITE_NULL) continue;
    return sqlite3_result_error(context, "a value that is to be summarized is no number", -1);
  }
  Sample** slot = sampleOf(context);
  if (!slot) return sqlite3_result_error_nomem(context);
  try {
    if (!*slot) *slot = new Sample;
    (*slot)->values.push_back(sqlite3_value_double(arguments[0]));
    if (count > 1 && !(*slot)->parameter) (*slot)->parameter = sqlite3_value_double(arguments[1]);
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  }
}

std::unique_ptr<Sample> take(sqlite3_context* context) {
  Sample** slot = static_cast<Sample**>(sqlite3_aggregate_context(context, 0));
  std::unique_ptr<Sample> sample(slot ? *slot : nullptr);
  if (slot) *slot = nullptr;
  return sample;
}

double quantile(std::vector<double>& values, double fraction) {
  const double position = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(position);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), middle, values.end());
  const double low = *middle;
  const double rest = position - static_cast<double>(below);
  if (rest == 0) return low;
  const double high = *std::min_element(middle + 1, values.end());
  return low + rest * (high - low);
}

void finishPercentile(sqlite3_context* context) noexcept {
  const auto sample = take(context);
  if (!sample) return sqlite3_result_null(context);
  const double percent = sample->parameter.value_or(50);
  if (!(percent >= 0 && percent <= 100)) {
    return sqlite3_result_error(context, "percentile(x, p): p must be from 0 to 100", -1);
  }
  sqlite3_result_double(context, quantile(sample->values, percent / 100));
}

void finishDeviation(sqlite3_context* context) noexcept {
  const auto sample = take(context);
  if (!sample || sample->values.size() < 2) return sqlite3_result_null(context);
  const auto count = static_cast<double>(sample->values.size());
  double mean = 0;
  for (const double value : sample->values) mean += value / count;
  double squares = 0;
  for (const double value : sample->values) squares += (value - mean) * (value - mean);
  sqlite3_result_double(context, std::sqrt(squares / (count - 1)));
}

void finishGeometricMean(sqlite3_context* context) noexcept {
  const auto sample = take(context);
  if (!sample) return sqlite3_result_null(context);
  double sum = 0;
  for (const double value : sample->values) {
    if (!(value > 0)) return sqlite3_result_null(context);
    sum += std::log(value);
  }
  sqlite3_result_double(context, std::exp(sum / static_cast<double>(sample->values.size())));
}

constexpr double kMostBins = 10000;

// Infinite values are in bins of their own, which have no bound on that side.
std::string histogramOf(std::vector<double>& values, size_t binCount) {
  const auto below = std::erase(values, -std::numeric_limits<double>::infinity());
  const auto above = std::erase(values, std::numeric_limits<double>::infinity());
  const auto open = [](const std::string& low, const std::string& high, size_t count) {
    return fmt::format("{{\"low\":{},\"high\":{},\"count\":{}}}", low, high, count);
  };
  if (values.empty()) return "[" + open("null", "null", below + above) + "]";
  const auto [least, largest] = std::ranges::minmax(values);
  if (least == largest) binCount = 1;
  const double width = largest / static_cast<double>(binCount) - least / static_cast<double>(binCount);
  std::vector<int64_t> counts(binCount);
  for (const double value : values) {
    const double bin = width > 0 ? (value - least) / width : 0;
    ++counts[std::min(static_cast<size_t>(std::max(bin, 0.0)), binCount - 1)];
  }
  std::string text = "[";
  if (below > 0) text += open("null", fmt::format("{}", least), below) + ",";
  for (size_t i = 0; i < binCount; ++i) {
    const double low = least + width * static_cast<double>(i);
    const double high = i + 1 == binCount ? largest : least + width * static_cast<double>(i + 1);
    text += fmt::format("{}{{\"low\":{},\"high\":{},\"count\":{}}}", i == 0 ? "" : ",", low, high, counts[i]);
  }
  if (above > 0) text += "," + open(fmt::format("{}", largest), "null", above);
  return text + "]";
}

void finishHistogram(sqlite3_context* context) noexcept {
  const auto sample = take(context);
  if (!sample) return sqlite3_result_null(context);
  const double bins = sample->parameter.value_or(10);
  if (!(bins >= 1 && bins <= kMostBins) || bins != std::floor(bins)) {
    return sqlite3_result_error(context, "histogram(x, n): n must be a whole number from 1 to 10000", -1);
  }
  try {
    const std::string text = histogramOf(sample->values, static_cast<size_t>(bins));
    sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  } catch (const std::exception&) {
    sqlite3_result_error_nomem(context);
  }
}

void demangle(sqlite3_context* context, int, sqlite3_value** arguments) noexcept {
  const auto* name = reinterpret_cast<const char*>(sqlite3_value_text(arguments[0]));
  const int length = sqlite3_value_bytes(arguments[0]);
  // Without the prefix, __cxa_demangle would read "i" as int. Recursion in it grows with the length of the name.
  if (!name || length > kLongestSymbol || std::strncmp(name, "_Z", 2) != 0)
    return sqlite3_result_value(context, arguments[0]);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  if (!text || status != 0) return sqlite3_result_value(context, arguments[0]);
  sqlite3_result_text(context, text.get(), -1, SQLITE_TRANSIENT);
}

}  // namespace

int registerFunctions(sqlite3* database) noexcept {
  struct Aggregate {
    const char* name;
    int arguments;
    void (*finish)(sqlite3_context*) noexcept;
  };
  static constexpr Aggregate kAggregates[] = {
      {"median", 1, finishPercentile},   {"percentile", 2, finishPercentile},
      {"stddev", 1, finishDeviation},    {"histogram", 1, finishHistogram},
      {"histogram", 2, finishHistogram}, {"geometric_mean", 1, finishGeometricMean}};
  for (const Aggregate& aggregate : kAggregates) {
    const int result = sqlite3_create_function_v2(database, aggregate.name, aggregate.arguments,
                                                  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr,
                                                  nullptr, collect, aggregate.finish, nullptr);
    if (result != SQLITE_OK) return result;
  }
  if (const int result = registerRowScan(database); result != SQLITE_OK) return result;
  return sqlite3_create_function_v2(database, "demangle", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                    nullptr, demangle, nullptr, nullptr, nullptr);
}

}  // namespace plumb
