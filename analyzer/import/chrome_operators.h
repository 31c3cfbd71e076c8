// SPDX-License-Identifier: Apache-2.0
// Operators and Python calls of one torch.profiler trace: rows of operator, operator_argument_set, operator_launch and
// python_call.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/import/chrome_event.h"
#include "analyzer/import/id_set.h"
#include "analyzer/import/tally.h"
#include "analyzer/import/trace_file.h"
#include "collector/schema/result.h"

namespace plumb::import {

// Where and when something of the host happened; ids of tables process and thread.
struct HostSpan {
  int64_t process = 0, thread = 0, start = 0, duration = 0;
};

class ChromeOperators {
 public:
  // number: of the process among those of the file, from 0.
  ChromeOperators(TraceFile& file, Tally& tally, size_t number);

  // omitsCommunication: what the arguments say of a collective is stored elsewhere. Gives the row's id.
  int64_t add(const ChromeEvent& event, const HostSpan& span, bool omitsCommunication, uint64_t offset);
  void addPython(const ChromeEvent& event, const HostSpan& span);
  // Work on the device. external: "External id", none when the source gives none.
  void addWork(int64_t process, int64_t correlation, std::optional<int64_t> external);

  // Of work whose correlation ids are (process, id): it belongs to the operators around its launching calls.
  [[nodiscard]] Status forgetLaunches(const std::vector<std::pair<int64_t, int64_t>>& correlations);
  // Where an arrow to work of that correlation id begins: all work must be known. Its launching call goes before it.
  void addSource(int64_t process, int64_t thread, int64_t start, int64_t correlation);

  // The operator with that "External id", if it came already.
  [[nodiscard]] std::optional<int64_t> withExternalId(int64_t external) const;

  // No more events: finds what was waiting for all of them. All rows of the trace are in the file or on their way.
  [[nodiscard]] Status finish();

 private:
  struct OpenOperator {
    int64_t id, end;
  };
  struct Source {
    int64_t process, thread, start, correlation;
  };
  struct Lane {  // a thread
    std::vector<OpenOperator> open;
    int64_t lastStart = INT64_MIN, lastEnd = INT64_MAX;
    bool isSorted = true;
  };

  [[nodiscard]] std::optional<int64_t> parentOf(const HostSpan& span, int64_t id);
  [[nodiscard]] std::optional<int64_t> argumentSet(const ChromeEvent& event, bool omitsCommunication, uint64_t offset);
  void noteExternalId(int64_t external, int64_t id);
  // Operators and Python calls that the source holds twice.
  [[nodiscard]] Status dropRepeated();
  [[nodiscard]] Result<int64_t> dropRepeatedOperators();
  [[nodiscard]] Result<int64_t> dropRepeatedPython();
  [[nodiscard]] Status nest();
  [[nodiscard]] Status findByExternalId();
  [[nodiscard]] Status findLaunchers();
  [[nodiscard]] Status storeSources();
  [[nodiscard]] Status findAround(const std::string& sql);
  [[nodiscard]] bool isUnknown(int64_t process, int64_t correlation) const;

  TraceFile& m_file;
  Tally& m_tally;
  int64_t m_firstOperator, m_firstApiCall;  // the last ids before this file
  int64_t m_pythonBase;                     // what is added to the source's "Python id"
  int64_t m_nextOddPython;                  // id of the next call whose own cannot be used
  int64_t m_firstPython;                    // as m_firstOperator
  std::vector<bool> m_pythonIds;            // seen
  bool m_hasRepeatedPython = false, m_hasRepeatedExternal = false;
  std::unordered_map<int64_t, Lane> m_lanes;
  Lane* m_lane = nullptr;
  int64_t m_laneThread = -1;
  std::optional<int64_t> m_firstExternal;
  std::vector<uint32_t> m_byExternal;                    // from m_firstExternal: row id - m_firstOperator
  std::unordered_map<int64_t, int64_t> m_byOddExternal;  // far from it
  int64_t m_lastCorrelation = 0;                         // of the last work
  bool m_hasWaiting = false;           // rows of operator_launch have the operator's "External id", as ~id
  std::map<int64_t, IdSet> m_unknown;  // by process: correlations of work without an operator
  std::vector<Source> m_sources;
  std::unordered_map<std::string, int64_t> m_argumentSets;  // by the texts, joined
  std::string m_argumentKey;
};

}  // namespace plumb::import
