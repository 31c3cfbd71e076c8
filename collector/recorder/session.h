// SPDX-License-Identifier: Apache-2.0
// What all processes of one recording share.
#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "collector/recorder/roofs.h"
#include "collector/recorder/storage.h"
#include "collector/recorder/string_table.h"

namespace plumb::recorder {

struct Session {
  Writer& writer;
  StringTable& strings;
  const Roofs& roofs;
  std::set<std::string> memoryCategories;  // names of table memory_category
  // One instant: the zero of all times in the file.
  int64_t startMonotonicNs = 0;
  int64_t startRealtimeNs = 0;
};

}  // namespace plumb::recorder
