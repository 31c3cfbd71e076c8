// SPDX-License-Identifier: Apache-2.0
// The flow events (arrows) of one Chrome trace: between a launch and its work they give correlation ids where the
// events have none; the others become rows of table flow.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/import/chrome_event.h"
#include "analyzer/import/tally.h"
#include "analyzer/import/trace_file.h"
#include "collector/schema/result.h"

namespace plumb::import {

class ChromeFlows {
 public:
  ChromeFlows(TraceFile& file, Tally& tally) : m_file(file), m_tally(tally) {}

  // An arrow between a host's call and work on the device: its ends need no threads.
  [[nodiscard]] static bool isLaunch(const ChromeEvent& event);
  void addLaunch(const ChromeEvent& event, int64_t start, uint64_t offset);
  // Any other. thread: of the end at hand.
  void add(const ChromeEvent& event, int64_t process, int64_t thread, int64_t start, uint64_t offset);

  // A call or work was stored with a correlation id.
  void noteCorrelated() noexcept { m_hasCorrelations = true; }
  // A row of that table was stored without one.
  void noteUncorrelated(const char* table, int64_t id, const ChromeEvent& event, int64_t start);

  // No more events. Gives the correlation ids that arrows lent to work on the device.
  [[nodiscard]] Result<std::vector<int64_t>> finish();

 private:
  struct End {
    int64_t thread = 0, start = 0;
    uint64_t offset = 0;
  };
  struct Arrow {
    std::optional<End> source, target;
    bool isDrawn = false;
  };
  struct Uncorrelated {
    const char* table;
    int64_t id, start;
    std::string place;
  };

  [[nodiscard]] std::string keyOf(const ChromeEvent& event, int64_t start) const;
  void draw(const ChromeEvent& event, int64_t process, const End& source, const End& target);

  TraceFile& m_file;
  Tally& m_tally;
  bool m_hasCorrelations = false;
  std::vector<Uncorrelated> m_uncorrelated;
  std::unordered_map<std::string, int64_t> m_launches;  // flow id by place and time of its end
  std::unordered_map<std::string, Arrow> m_arrows;      // by category and id
  std::string m_key;
};

}  // namespace plumb::import
