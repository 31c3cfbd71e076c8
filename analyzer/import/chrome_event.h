// SPDX-License-Identifier: Apache-2.0
// One event of a Chrome trace, read but not interpreted. Views into the event's text.
#pragma once
#include <optional>
#include <string_view>

#include "analyzer/import/json.h"

namespace plumb::import {

struct ChromeEvent {
  char phase = 0;  // X B E b e n i I R C M s t f …
  std::string_view category, pid, tid, id;
  JsonValue name, args;
  std::optional<int64_t> startNs, durationNs;  // no value: absent or unusable
  bool hasDuration = false;

  // The argument of that name; kind Null when there is none.
  [[nodiscard]] JsonValue argument(std::string_view key) const;
  // Calls for each argument.
  void forEachArgument(const JsonMember& take) const;
};

// No value: not valid JSON, or no event (it has no phase).
[[nodiscard]] std::optional<ChromeEvent> readChromeEvent(std::string_view text);

}  // namespace plumb::import
