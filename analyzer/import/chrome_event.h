// SPDX-License-Identifier: Apache-2.0
// One event of a Chrome trace, read but not interpreted. Views into the event's text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/import/json.h"

namespace plumb::import {

struct ChromeArgument {
  std::string_view key;
  JsonValue value;
};

struct ChromeEvent {
  char phase = 0;                           // X B E b e n i I R C M s t f …
  std::string_view category, pid, tid, id;  // id: also the one that id2 holds
  JsonValue name, args;
  std::vector<ChromeArgument> arguments;       // of args
  std::optional<int64_t> startNs, durationNs;  // no value: absent or unusable
  bool hasDuration = false;
  bool isIdGlobal = false;  // the id is one of the whole file, not of its process
  // What its texts and arguments lost.
  bool hasTooDeep = false;        // arguments that nest too deep are left out
  bool hasZeroCharacter = false;  // a text holds \u0000
  bool hasLoneSurrogate = false;  // a text holds half of a surrogate pair

  // The argument of that name, the last of several; kind Null when there is none.
  [[nodiscard]] JsonValue argument(std::string_view key) const noexcept;
  // take(key, value) for each argument.
  template <class Take>
  void forEachArgument(const Take& take) const {
    for (const ChromeArgument& argument : arguments) take(argument.key, argument.value);
  }
};

enum class EventText : uint8_t {
  Whole,
  Cut,      // it ends within the event
  Damaged,  // no valid JSON, or no event (it has no phase)
};

// Reads the event that the text begins with into `event`, whose memory is used again, in one pass. length: of its text,
// when it is Whole; else how far it was read.
[[nodiscard]] EventText readChromeEvent(std::string_view text, ChromeEvent& event, size_t& length);

}  // namespace plumb::import
