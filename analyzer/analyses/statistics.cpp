// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/statistics.h"

#include <algorithm>
#include <cmath>

namespace plumb {

SampleStatistics Sample::statistics() {
  SampleStatistics s;
  s.count = static_cast<int64_t>(m_values.size());
  if (m_values.empty()) return s;
  s.shortest = s.longest = m_values.front();
  for (const int64_t value : m_values) {
    s.total = addSaturated(s.total, value);
    s.shortest = std::min(s.shortest, value);
    s.longest = std::max(s.longest, value);
  }
  const auto count = static_cast<double>(s.count);
  s.mean = static_cast<double>(s.total) / count;
  const auto middle = m_values.begin() + static_cast<std::ptrdiff_t>(m_values.size() / 2);
  std::nth_element(m_values.begin(), middle, m_values.end());
  s.median = static_cast<double>(*middle);
  if (m_values.size() % 2 == 0) {
    s.median = (s.median + static_cast<double>(*std::max_element(m_values.begin(), middle))) / 2;
  }
  if (m_values.size() > 1) {
    double squares = 0;
    for (const int64_t value : m_values) {
      const double difference = static_cast<double>(value) - s.mean;
      squares += difference * difference;
    }
    s.stddev = std::sqrt(squares / (count - 1));
  }
  return s;
}

void appendStatistics(CellRow& row, Sample& sample) {
  const SampleStatistics s = sample.statistics();
  if (s.count == 0) {
    row.insert(row.end(), 6, Cell(nullptr));
    return;
  }
  row.insert(row.end(), {Cell(s.total), Cell(s.mean), Cell(s.median), Cell(s.shortest), Cell(s.longest),
                         s.stddev ? Cell(*s.stddev) : Cell(nullptr)});
}

}  // namespace plumb
