// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_event.h"

#include "analyzer/import/json_reader.h"

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

// {"local": "0x1"} or {"global": "0x1"}
void takeScopedId(ChromeEvent& event, const JsonValue& value) {
  if (value.kind != JsonKind::Object) return;
  (void)readObject(value.text, [&](std::string_view scope, const JsonValue& id) {
    if (scope != "local" && scope != "global") return;
    event.id = plainText(id);
    event.isIdGlobal = scope == "global";
  });
}

void takeMember(ChromeEvent& event, std::string_view key, const JsonValue& value) {
  switch (key.size()) {
    case 2:
      if (key == "ph") event.phase = value.kind == JsonKind::String && value.text.size() == 1 ? value.text[0] : '\0';
      if (key == "ts") event.startNs = timeOf(value);
      if (key == "id") event.id = plainText(value);
      break;
    case 3:
      if (key == "cat") event.category = plainText(value);
      if (key == "pid") event.pid = plainText(value);
      if (key == "tid") event.tid = plainText(value);
      if (key == "id2") takeScopedId(event, value);
      if (key == "dur") {
        event.durationNs = timeOf(value);
        event.hasDuration = true;
      }
      break;
    case 4:
      if (key == "name") event.name = value;
      if (key == "args") event.args = value;
      break;
    default:
      break;
  }
}

bool readMembers(JsonReader& reader, ChromeEvent& event) {
  if (!reader.consume('{')) return false;
  if (reader.consume('}')) return true;
  do {
    JsonValue key, value;
    if (!reader.key(key)) return false;
    if (key.text == "args" && reader.next() == '{') {
      const char* start = reader.at();
      event.arguments.clear();
      const bool valid = reader.object(
          [&](std::string_view name, const JsonValue& argument) {
            event.arguments.push_back({name, argument});
          },
          1);
      if (!valid) return false;
      event.args = {JsonKind::Object, std::string_view(start, static_cast<size_t>(reader.at() - start))};
      continue;
    }
    const uint64_t tooDeep = reader.tooDeep();
    if (!reader.value(value, 0)) return false;
    if (reader.tooDeep() == tooDeep) takeMember(event, key.text, value);
  } while (reader.consume(','));
  return reader.consume('}');
}

}  // namespace

JsonValue ChromeEvent::argument(std::string_view key) const noexcept {
  for (auto at = arguments.rbegin(); at != arguments.rend(); ++at) {
    if (at->key == key) return at->value;
  }
  return {};
}

EventText readChromeEvent(std::string_view text, ChromeEvent& event, size_t& length) {
  std::vector<ChromeArgument> memory = std::move(event.arguments);
  memory.clear();
  event = {};
  event.arguments = std::move(memory);
  JsonReader reader(text);
  const bool isWhole = readMembers(reader, event);
  length = static_cast<size_t>(reader.at() - text.data());
  if (!isWhole) return reader.needsMore() ? EventText::Cut : EventText::Damaged;
  if (event.phase == '\0') return EventText::Damaged;
  event.hasTooDeep = reader.tooDeep() > 0;
  event.hasZeroCharacter = reader.zeroCharacters() > 0;
  event.hasLoneSurrogate = reader.loneSurrogates() > 0;
  return EventText::Whole;
}

}  // namespace plumb::import
