// SPDX-License-Identifier: Apache-2.0
// The flow events (arrows) of one Chrome trace: between a launch and its work they give correlation ids where the
// events have none, and say where work began that has no launching call; the others become rows of table flow.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
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

  // Work was stored with a correlation id.
  void noteCorrelated() noexcept { m_hasCorrelations = true; }
  // A call was.
  void noteCall(int64_t correlation) noexcept {
    m_hasCorrelations = true;
    m_lastCall = correlation;
  }
  // A row of that table was stored without one. external: its "External id".
  void noteUncorrelated(const char* table, int64_t id, const ChromeEvent& event, int64_t start,
                        std::optional<int64_t> external = std::nullopt);

  // Work on the device that has a correlation id only now.
  struct Lent {
    int64_t correlation;
    std::optional<int64_t> external;
  };
  // No more events.
  [[nodiscard]] Result<std::vector<Lent>> finish();

  // Where an arrow to work on the device begins, unless that is a call of the same id.
  struct Source {
    int64_t correlation, start;
    size_t place;
  };
  [[nodiscard]] const std::vector<Source>& sources() const noexcept { return m_sources; }
  // Its pid and tid.
  [[nodiscard]] const std::pair<std::string, std::string>& placeOf(const Source& source) const {
    return m_places[source.place];
  }

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
    int64_t id;
    std::string place;
    std::optional<int64_t> external;
  };

  void noteSource(const ChromeEvent& event, int64_t id, int64_t start);
  [[nodiscard]] std::string keyOf(const ChromeEvent& event, int64_t start) const;
  void draw(const ChromeEvent& event, int64_t process, const End& source, const End& target);

  TraceFile& m_file;
  Tally& m_tally;
  bool m_hasCorrelations = false;
  int64_t m_lastCall = 0;  // correlation id
  std::vector<Source> m_sources;
  std::vector<std::pair<std::string, std::string>> m_places;  // pids and tids of the sources
  std::vector<Uncorrelated> m_uncorrelated;
  std::unordered_map<std::string, int64_t> m_launches;  // flow id by place and time of its end
  std::unordered_map<std::string, Arrow> m_arrows;      // by category and id
  std::string m_key;
};

}  // namespace plumb::import
