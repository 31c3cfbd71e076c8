// SPDX-License-Identifier: Apache-2.0
// Ranges whose begins and ends are events of their own: those of one thread, or of one asynchronous id. They nest by
// time. As long as the file is in the order of time a range is written at its end, and nothing is kept of it; ends that
// came too early are paired anew when all is read.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/import/tally.h"
#include "analyzer/import/trace_file.h"
#include "collector/schema/result.h"

namespace plumb::import {

struct OpenRange {
  std::string name, category, payload;
  int64_t start = 0, process = 0, thread = 0;
};

class RangeLane {
 public:
  // Inserts a range and gives its id; no end: it does not end.
  using Write = std::function<int64_t(OpenRange& open, std::optional<int64_t> end)>;

  void begin(OpenRange open);
  void end(int64_t time, uint64_t offset, const Write& write);
  // Nothing is open, and nothing waits for what may come: the lane can be forgotten.
  [[nodiscard]] bool isSettled() const noexcept { return m_open.empty() && m_early.empty() && !m_isDisordered; }
  // No more events. offset: of the file's last one.
  void writeOpen(const Write& write);
  // After writeOpen of all lanes: pairs those of a lane that was out of order by time, and counts what has no other
  // end.
  [[nodiscard]] Status finish(TraceFile& file, Tally& tally, uint64_t offset);

 private:
  struct Ids {
    int64_t first, last;
  };
  void note(int64_t time);
  void keep(int64_t id);
  [[nodiscard]] Status pairAnew(TraceFile& file, Tally& tally, uint64_t offset);

  std::vector<OpenRange> m_open;
  std::vector<Ids> m_written;                         // ids of this lane's ranges
  std::vector<std::pair<int64_t, uint64_t>> m_early;  // time, offset: ends that found no begin before them
  int64_t m_lastNs = std::numeric_limits<int64_t>::min();
  uint64_t m_neverEnded = 0;
  bool m_isDisordered = false;
};

}  // namespace plumb::import
