// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/functions.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <optional>
#include <vector>

namespace plumb {
namespace {

struct Sample {
  std::vector<double> values;
  std::optional<double> percent;
};

// SQLite gives zeroed memory of our size for each group; it holds a pointer, because SQLite runs no destructors.
Sample** sampleOf(sqlite3_context* context) {
  return static_cast<Sample**>(sqlite3_aggregate_context(context, sizeof(Sample*)));
}

void collect(sqlite3_context* context, int count, sqlite3_value** arguments) noexcept {
  if (sqlite3_value_type(arguments[0]) == SQLITE_NULL) return;
  Sample** slot = sampleOf(context);
  if (!slot) return sqlite3_result_error_nomem(context);
  try {
    if (!*slot) *slot = new Sample;
    (*slot)->values.push_back(sqlite3_value_double(arguments[0]));
    if (count > 1 && !(*slot)->percent) (*slot)->percent = sqlite3_value_double(arguments[1]);
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
  const double percent = sample->percent.value_or(50);
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

}  // namespace

int registerFunctions(sqlite3* database) noexcept {
  struct Aggregate {
    const char* name;
    int arguments;
    void (*finish)(sqlite3_context*) noexcept;
  };
  static constexpr Aggregate kAggregates[] = {
      {"median", 1, finishPercentile}, {"percentile", 2, finishPercentile}, {"stddev", 1, finishDeviation}};
  for (const Aggregate& aggregate : kAggregates) {
    const int result = sqlite3_create_function_v2(database, aggregate.name, aggregate.arguments,
                                                  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr,
                                                  nullptr, collect, aggregate.finish, nullptr);
    if (result != SQLITE_OK) return result;
  }
  return SQLITE_OK;
}

}  // namespace plumb
