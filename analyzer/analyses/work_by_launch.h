// SPDX-License-Identifier: Apache-2.0
// The GPU work of a few launches, looked up by the file's indexes in place of reading all work and all calls.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// Whether a statement about one launch (WHERE process_id = ?1 AND correlation = ?2) finds its rows by an index.
[[nodiscard]] Result<bool> findsByLaunch(Trace& trace, const std::string& sql);
// How many launches it pays to look up one by one, in place of reading all calls.
[[nodiscard]] Result<size_t> fewLaunches(Trace& trace);

struct LaunchedWorkTime {
  ProcessId process;
  TimePoint launch;  // the start of its call, of nested ones the outermost
  Interval time;
};

// Timed work whose launch begins inside its process's interval. None when reading everything is faster: the calls in
// there are many, or the file has no indexes.
[[nodiscard]] Result<std::optional<std::vector<LaunchedWorkTime>>> findWorkLaunchedIn(
    Trace& trace, const std::map<ProcessId, Interval>& times);

}  // namespace plumb
