// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_event.h"

namespace plumb::import {
namespace {

// pid and tid are numbers or strings, even within one file.
std::string_view plainText(const JsonValue& value) {
  return value.kind == JsonKind::String || value.kind == JsonKind::Number ? value.text : std::string_view();
}

std::optional<int64_t> timeOf(const JsonValue& value) {
  if (value.kind != JsonKind::Number && value.kind != JsonKind::String) return std::nullopt;
  return nanosecondsOf(value.text);
}

}  // namespace

JsonValue ChromeEvent::argument(std::string_view key) const {
  JsonValue found;
  forEachArgument([&](std::string_view argumentName, const JsonValue& value) {
    if (argumentName == key) found = value;
  });
  return found;
}

void ChromeEvent::forEachArgument(const JsonMember& take) const {
  if (args.kind == JsonKind::Object) (void)readObject(args.text, take);
}

std::optional<ChromeEvent> readChromeEvent(std::string_view text) {
  ChromeEvent event;
  const bool valid = readObject(text, [&](std::string_view key, const JsonValue& value) {
    if (key == "ph") event.phase = value.kind == JsonKind::String && value.text.size() == 1 ? value.text[0] : '\0';
    if (key == "cat") event.category = plainText(value);
    if (key == "name") event.name = value;
    if (key == "pid") event.pid = plainText(value);
    if (key == "tid") event.tid = plainText(value);
    if (key == "ts") event.startNs = timeOf(value);
    if (key == "dur") {
      event.durationNs = timeOf(value);
      event.hasDuration = true;
    }
    if (key == "id") event.id = plainText(value);
    if (key == "args") event.args = value;
  });
  if (!valid || event.phase == '\0') return std::nullopt;
  return event;
}

}  // namespace plumb::import
