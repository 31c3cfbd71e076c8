// SPDX-License-Identifier: Apache-2.0
// When the host was loading data: ranges and outermost operators whose names say so.
#pragma once
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// True for "dataloader", "data loading", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" and the like.
[[nodiscard]] bool isDataLoadingName(std::string_view name);
// All such texts of the file, whatever they name.
[[nodiscard]] Result<std::vector<StringId>> findDataLoadingNames(Trace& trace);

// Of each thread: ranges, operators and Python functions, at any depth; an open range lasts to the end of time.
[[nodiscard]] Result<std::map<ThreadId, IntervalSet>> loadDataLoadingByThread(Trace& trace);

// Over all threads of each process.
[[nodiscard]] Result<std::unordered_map<ProcessId, IntervalSet>> loadDataLoading(Trace& trace);

}  // namespace plumb
