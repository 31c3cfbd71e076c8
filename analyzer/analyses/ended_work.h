// SPDX-License-Identifier: Apache-2.0
// What ended last by some moment.
#pragma once
#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "analyzer/analyses/activity_graph.h"
#include "analyzer/intervals/sort_runs.h"

namespace plumb {

class EndedWork {
 public:
  void reserve(size_t count) { m_work.reserve(count); }
  // The end as recorded: the activity's own may change later.
  void add(TimePoint end, ActivityGraph::Activity activity) { m_work.push_back({end, activity}); }
  // No more work; needed before lastBy().
  void seal() {
    sortRuns(m_work, [](const Ended& a, const Ended& b) { return a.end < b.end; });
  }
  [[nodiscard]] std::optional<ActivityGraph::Activity> lastBy(TimePoint t) const {
    const auto after =
        std::partition_point(m_work.begin(), m_work.end(), [t](const Ended& one) { return one.end <= t; });
    return after == m_work.begin() ? std::nullopt : std::optional(std::prev(after)->activity);
  }

 private:
  struct Ended {
    TimePoint end;
    ActivityGraph::Activity activity;
  };
  std::vector<Ended> m_work;
};

}  // namespace plumb
