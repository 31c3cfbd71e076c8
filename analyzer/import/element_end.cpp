// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/element_end.h"

#include <algorithm>
#include <array>

namespace plumb::import {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view withoutSpace(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
}

// The name of the member that the text begins with, "" for none; the text becomes what is behind its colon.
std::string_view takeKey(std::string_view& text) {
  if (text.empty() || text[0] != '"') return {};
  const size_t close = text.find('"', 1);
  if (close == std::string_view::npos) return {};
  const std::string_view rest = withoutSpace(text.substr(close + 1));
  if (rest.empty() || rest[0] != ':') return {};
  const std::string_view key = text.substr(1, close - 1);
  text = withoutSpace(rest.substr(1));
  return key;
}

// What the first member of an event is called; the first one of an event's args is not.
bool isEventKey(std::string_view key) {
  static constexpr std::array<std::string_view, 9> kKeys = {"ph", "name", "cat", "pid", "tid", "ts", "dur", "id", "s"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

bool isBesideEvents(std::string_view key) {
  static constexpr std::array<std::string_view, 20> kKeys = {"baseTimeNanoseconds",
                                                             "cuda_driver_version",
                                                             "cuda_runtime_version",
                                                             "cupti_version",
                                                             "deviceProperties",
                                                             "displayTimeUnit",
                                                             "distributedInfo",
                                                             "metadata",
                                                             "otherData",
                                                             "profile_memory",
                                                             "record_shapes",
                                                             "samples",
                                                             "schemaVersion",
                                                             "stackFrames",
                                                             "traceName",
                                                             "trace_id",
                                                             "with_flops",
                                                             "with_modules",
                                                             "with_stack",
                                                             "systemTraceEvents"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

}  // namespace

bool ElementEnd::step(char c) noexcept {
  if (m_isLost) return false;
  if (m_isScalar) return m_isLost = c == ',' || c == ']' || c == '{' || c == '"';
  if (m_inString) {
    if (m_isEscaped) {
      m_isEscaped = false;
    } else if (c == '\\') {
      m_isEscaped = true;
    } else if (c == '"') {
      m_inString = false;
      m_isLost = m_depth == 0;
    }
    return m_isLost;
  }
  if (c == '"') m_inString = true;
  if (c == '{' || c == '[') ++m_depth;
  if (c != '}' && c != ']') return false;
  if (m_depth == 0) {
    m_isLost = true;
    return false;
  }
  return m_isLost = --m_depth == 0;
}

Start startOf(std::string_view text) {
  text = withoutSpace(text.substr(1));
  const std::string_view key = takeKey(text);
  if (key.empty()) return Start::None;
  // None of an event's members that come first is an object or array.
  const bool isScalar = text.empty() || (text[0] != '{' && text[0] != '[');
  return isEventKey(key) && isScalar ? Start::Event : Start::Object;
}

std::optional<size_t> eventArrayIn(std::string_view text) {
  constexpr std::string_view kKey = "traceEvents\"";  // the quote before it may be what is damaged
  for (size_t at = text.find(kKey); at != std::string_view::npos; at = text.find(kKey, at + 1)) {
    std::string_view rest = withoutSpace(text.substr(at + kKey.size()));
    if (rest.empty() || rest[0] != ':') continue;
    rest = withoutSpace(rest.substr(1));
    if (!rest.empty() && rest[0] == '[') return text.size() - rest.size() + 1;
  }
  return std::nullopt;
}

std::optional<size_t> severalEventsIn(std::string_view text) {
  constexpr size_t kSeveral = 3;
  constexpr std::string_view kPhase = "\"ph\"";
  size_t found = 0, first = 0;
  for (size_t at = text.find('{'); at != std::string_view::npos && found < kSeveral;) {
    const size_t next = text.find('{', at + 1);
    const std::string_view object = text.substr(at, next == std::string_view::npos ? next : next - at);
    if (startOf(object) == Start::Event && object.find(kPhase) != std::string_view::npos && found++ == 0) first = at;
    at = next;
  }
  return found < kSeveral ? std::nullopt : std::optional(first);
}

bool isNearlyEventKey(std::string_view key) {
  constexpr std::string_view kKey = "traceEvents";
  if (key.size() != kKey.size()) return false;
  size_t different = 0;
  for (size_t i = 0; i < kKey.size(); ++i) different += key[i] != kKey[i] ? 1 : 0;
  return different <= 1;
}

bool isObjectOfObjects(std::string_view text) {
  if (text.empty() || text[0] != '{') return false;
  text = withoutSpace(text.substr(1));
  return !text.empty() && text[0] == '{';
}

bool isArrayEnd(std::string_view text, bool isBareArray, bool isAll) {
  text = withoutSpace(text.substr(1));
  if (isBareArray) return text.empty() && isAll;
  if (text.empty()) return isAll;
  if (text[0] == '}') return withoutSpace(text.substr(1)).empty() && isAll;
  if (text[0] != ',') return false;
  text = withoutSpace(text.substr(1));
  return isBesideEvents(takeKey(text));
}

BracketRun bracketRun(std::string_view text) {
  BracketRun run;
  for (; run.length < text.size(); ++run.length) {
    const char c = text[run.length];
    if (c == '}') run.hasBrace = true;
    if (c == ',') run.hasComma = true;
    if (c != ']' && c != '}' && c != ',' && kSpace.find(c) == std::string_view::npos) return run;
  }
  run.isCut = true;
  return run;
}

bool isStrayBracket(std::string_view text) {
  static constexpr std::array<std::string_view, 8> kOfEvents = {"ph", "cat", "pid", "tid", "ts", "dur", "args", "bp"};
  const BracketRun run = bracketRun(text);
  text = text.substr(run.length);
  // Behind the root's end nothing is looked for but the next element: what follows may be another trace.
  if (text.empty() || (run.hasBrace && !run.hasComma)) return false;
  if (text[0] == '{') return startOf(text) == Start::Event;
  if (!run.hasComma) return false;
  const std::string_view key = takeKey(text);
  return std::find(kOfEvents.begin(), kOfEvents.end(), key) != kOfEvents.end();
}

}  // namespace plumb::import
