// SPDX-License-Identifier: Apache-2.0
// What importers of files about one process, which are no traces of events, have to write when all is read.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/import/importer.h"
#include "analyzer/import/losses.h"
#include "analyzer/import/registry.h"

namespace plumb::import {

struct SourceEnd {
  int64_t process = 0;
  std::optional<int64_t> originNs;     // of the file's times, since 1970; none: nothing in it has a time
  int64_t lastNs = 0;                  // from the origin
  std::optional<std::string> problem;  // why the source is not complete: a clause with the place
};
// The process with its rank and world size (of `result`), the losses, and the problem.
void finishSource(SourceContext& context, Registry& registry, const Losses& losses, const SourceEnd& end,
                  SourceResult& result);

}  // namespace plumb::import
