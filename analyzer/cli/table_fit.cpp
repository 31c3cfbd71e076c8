// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/table_fit.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace plumb::cli {
namespace {

constexpr size_t kGap = 2, kShortText = 24, kShortestText = 12, kShortestLine = 40, kLongReason = 60;
constexpr int kNever = 100;

// What a row is about, and what most people ask for.
constexpr std::array<std::string_view, 35> kMain = {
    "rank",         "name",        "operation", "op",       "total_ns", "bytes",         "calls",
    "share_pct",    "verdict",     "what",      "cause",    "category", "state",         "missing_ranks",
    "reason",       "path_ns",     "idle_ns",   "span_ns",  "time_ns",  "check_name",    "message",
    "severity",     "step",        "statistic", "start_ns", "sequence", "waiting_ranks", "process_group",
    "communicator", "kernel_type", "type",      "sum_us",   "time_us",  "api",           "idle_pct"};

// The lower, the sooner it is left out.
int importanceOf(const FitColumn& column, bool hasRank) {
  const std::string_view name = column.name;
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("stddev") || name == "std" || name.starts_with("std_")) return 0;
  if (name == "pid" && hasRank) return 1;
  if (name.ends_with("_source") || name.ends_with("_assumed") || name.ends_with("_by")) return 2;
  if (name.starts_with("min") || has("_min_") || name == "p25" || name == "p75") return 3;
  if (name.starts_with("avg") || has("_avg_") || has("mean")) return 4;
  if (name.starts_with("max") || has("_max_") || name.starts_with("best") || name.starts_with("largest")) return 5;
  if (has("median")) return 6;
  if (std::ranges::find(kMain, name) != kMain.end()) return kNever;
  if (name.ends_with("_pct")) return 9;
  return column.isText ? 8 : 7;
}

class Fitter {
 public:
  Fitter(const std::vector<FitColumn>& columns, size_t most) : m_columns(columns), m_most(most) {
    for (const FitColumn& column : columns) {
      m_fit.isShown.push_back(column.isShown);
      m_fit.longest.push_back(column.width);
    }
  }
  TableFit run() {
    // A state says in short what the reason does at length, but alone it says nothing.
    const auto isNoReason = [](const FitColumn& column) { return column.isShown && column.name != "reason"; };
    const bool hasState =
        std::ranges::any_of(m_columns, [](const FitColumn& column) { return column.name == "state"; }) &&
        std::ranges::count_if(m_columns, isNoReason) > 1;
    for (size_t i = 0; hasState && i < m_columns.size() && lineLength() > m_most; ++i) {
      if (m_columns[i].name == "reason" && m_columns[i].width > kLongReason) m_fit.isShown[i] = false;
    }
    for (const size_t column : leastFirst()) {
      if (cutTexts(kShortText)) return m_fit;
      m_fit.isShown[column] = false;
    }
    if (!cutTexts(kShortText)) (void)cutTexts(kShortestText);
    return m_fit;
  }

 private:
  // Of those that may go.
  [[nodiscard]] std::vector<size_t> leastFirst() const {
    const bool hasRank =
        std::ranges::any_of(m_columns, [](const FitColumn& c) { return c.name == "rank" && c.isShown; });
    std::vector<size_t> order;
    for (size_t i = m_columns.size(); i > 0; --i) {
      if (m_columns[i - 1].isShown && importanceOf(m_columns[i - 1], hasRank) < kNever) order.push_back(i - 1);
    }
    std::ranges::stable_sort(order, {}, [&](size_t i) { return importanceOf(m_columns[i], hasRank); });
    return order;
  }
  [[nodiscard]] size_t lineLength() const {
    size_t length = 0;
    for (size_t i = 0; i < m_columns.size(); ++i) length += m_fit.isShown[i] ? m_fit.longest[i] + kGap : 0;
    return length == 0 ? 0 : length - kGap;
  }
  [[nodiscard]] size_t leastOf(size_t column, size_t shortest) const {
    return std::max(isWrapped(m_columns[column]) ? std::max(shortest, kShortestLine) : shortest,
                    m_columns[column].header);
  }
  // The longest text first. False: it does not fit even so.
  bool cutTexts(size_t shortest) {
    for (size_t i = 0; i < m_columns.size(); ++i) m_fit.longest[i] = m_columns[i].width;
    for (size_t length = lineLength(); length > m_most; length = lineLength()) {
      size_t widest = m_columns.size(), next = 0;
      for (size_t i = 0; i < m_columns.size(); ++i) {
        const size_t least = leastOf(i, shortest);
        if (!m_fit.isShown[i] || !m_columns[i].isText || m_fit.longest[i] <= least) continue;
        if (widest == m_columns.size() || m_fit.longest[i] > m_fit.longest[widest]) {
          next = widest == m_columns.size() ? 0 : m_fit.longest[widest];
          widest = i;
        } else {
          next = std::max(next, m_fit.longest[i]);
        }
      }
      if (widest == m_columns.size()) return false;
      const size_t least = leastOf(widest, shortest);
      const size_t wanted = m_fit.longest[widest] - std::min(length - m_most, m_fit.longest[widest] - least);
      m_fit.longest[widest] = std::max({wanted, least, std::min(next, m_fit.longest[widest] - 1)});
    }
    return true;
  }

  const std::vector<FitColumn>& m_columns;
  size_t m_most;
  TableFit m_fit;
};

}  // namespace

bool isWrapped(const FitColumn& column) { return column.isText && column.name == "message"; }

TableFit fitTable(const std::vector<FitColumn>& columns, size_t most) { return Fitter(columns, most).run(); }

size_t lineWidth() {
  constexpr size_t kOfFiles = 160, kLeast = 60;
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::max<size_t>(size.ws_col, kLeast);
  }
  const char* columns = std::getenv("COLUMNS");
  const long given = columns ? std::strtol(columns, nullptr, 10) : 0;
  return given > 0 ? std::max(static_cast<size_t>(given), kLeast) : kOfFiles;
}

}  // namespace plumb::cli
