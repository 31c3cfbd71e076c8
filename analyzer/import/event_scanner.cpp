// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/event_scanner.h"

#include <algorithm>

#include "analyzer/import/json_reader.h"

namespace plumb::import {
namespace {

// Larger than any real event (names of 5,000 characters and stacks of 100 frames are known), small enough that a
// damaged one costs little.
constexpr size_t kLargestEvent = 16u << 20;
constexpr size_t kForgetBytes = 1u << 19;
// An event larger than this is not recognized where the end of a damage is looked for.
constexpr size_t kLargestCandidate = 4u << 20;
// How much is looked at for the next event after damage, over all candidates, before the rest is given up.
constexpr uint64_t kMostSearched = 1u << 30;
constexpr uint64_t kMostMembers = 1000;
constexpr size_t kAhead = 256;  // for the first key of an event
// Of closing brackets in a row, where none is expected.
constexpr size_t kLongestRun = 1u << 16;
// How far behind a damaged head its events are looked for when nothing names their array.
constexpr size_t kHeadless = 1u << 16;

bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

bool EventScanner::more() { return m_source.append(m_buffer); }

std::string_view EventScanner::peek(size_t count) {
  while (m_buffer.size() < count && more()) {
  }
  return std::string_view(m_buffer).substr(0, count);
}

std::optional<char> EventScanner::skipSpace() {
  while (true) {
    while (m_at < m_buffer.size() && isSpace(m_buffer[m_at])) ++m_at;
    if (m_at < m_buffer.size()) return m_buffer[m_at];
    forget();
    if (!more()) return std::nullopt;
  }
}

// Only between items: no view into the buffer is in use.
void EventScanner::forget() {
  if (m_at < kForgetBytes) return;
  m_buffer.erase(0, m_at);
  m_base += m_at;
  m_at = 0;
}

std::optional<size_t> EventScanner::valueLength() {
  std::string closers;
  size_t i = m_at;
  bool inString = false;
  const auto fail = [&]() -> std::optional<size_t> {
    m_searched += i - m_at;
    return std::nullopt;
  };
  for (;; ++i) {
    if (i - m_at > kLargestEvent) return fail();
    if (i == m_buffer.size() && !more()) {
      // A number or word at the root's end is complete without a following byte; nothing else is.
      return fail();
    }
    const char c = m_buffer[i];
    if (inString) {
      if (c == '\\') {
        if (++i == m_buffer.size() && !more()) return fail();
      } else if (c == '"') {
        inString = false;
        if (closers.empty()) return i + 1 - m_at;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        return fail();
      }
      continue;
    }
    // A number or word ends where anything else begins.
    if (closers.empty() && i > m_at && (c == '"' || c == '{' || c == '[')) return i - m_at;
    switch (c) {
      case '"':
        inString = true;
        break;
      case '{':
        closers += '}';
        break;
      case '[':
        closers += ']';
        break;
      case '}':
      case ']':
        if (closers.empty()) return i - m_at;  // the end of a number or word, and of what is around it
        if (closers.back() != c) return fail();
        closers.pop_back();
        if (closers.empty()) return i + 1 - m_at;
        break;
      default:
        if (closers.empty() && (c == ',' || isSpace(c))) return i - m_at;
    }
  }
}

bool EventScanner::passValue() {
  uint64_t depth = 0;
  bool inString = false, isEscaped = false;
  for (;; ++m_at) {
    if (m_at == m_buffer.size()) {
      forget();
      if (!more()) return false;
    }
    const char c = m_buffer[m_at];
    if (inString) {
      inString = isEscaped || c != '"';
      isEscaped = !isEscaped && c == '\\';
      if (inString || depth > 0) continue;
      ++m_at;
      return true;
    }
    if (c == '"') inString = true;
    if (c == '{' || c == '[') ++depth;
    const bool isCloser = c == '}' || c == ']';
    if (depth == 0 && (isCloser || c == ',')) return true;  // behind a number or word
    if (isCloser && --depth == 0) {
      ++m_at;
      return true;
    }
  }
}

ScannedItem EventScanner::end(bool cut) {
  m_state = State::Done;
  m_cut = cut;
  const ScannedItem item{ScannedItem::Kind::End, {}, {}, offset(), nullptr};
  if (!cut && skipSpace()) {
    const uint64_t behind = offset();
    drain();
    m_bytesBehind = offset() - behind;
  }
  return item;
}

ScannedItem EventScanner::next() {
  forget();
  if (m_state == State::Root) {
    const auto first = skipSpace();
    if (!first) return end(true);
    if (*first != '{' && *first != '[') {
      m_memberAt = offset();
      return endOrEvents(true);
    }
    if (*first == '{' && severalEventsIn(ahead(kHeadless)) == size_t{0}) return takeArray(offset());  // no root
    m_bareArray = *first == '[';
    m_hasEvents = m_bareArray;
    m_state = m_bareArray ? State::Events : State::Members;
    ++m_at;
  }
  if (m_state == State::Events) return nextEvent();
  if (m_state == State::Members) return nextMember();
  return {ScannedItem::Kind::End, {}, {}, offset(), nullptr};
}

ScannedItem EventScanner::takeArray(uint64_t damagedAt) {
  m_damagedHead = damagedAt;
  m_eventsAt = offset();
  m_hasEvents = true;
  m_state = State::Events;
  return nextEvent();
}

// Whether the value at the current byte has taken the events with it, because a quote or bracket in it is damaged.
bool EventScanner::hidesEvents(size_t length) {
  const std::string_view text = std::string_view(m_buffer).substr(m_at, length);
  if (m_hasEvents || !eventArrayIn(text)) return false;
  JsonReader reader(text);
  JsonValue value;
  return !reader.value(value, 0) || reader.at() != text.data() + text.size();
}

// Goes from the member at hand, which is damaged, to the events behind it: to their array, or, when the data begins
// behind that, to the first of them.
bool EventScanner::findEvents() {
  m_at = static_cast<size_t>(std::max(m_memberAt, m_base) - m_base);
  const auto first = severalEventsIn(ahead(kHeadless));
  std::optional<size_t> array;
  for (size_t size = kHeadless; !array; size *= 4) {
    const std::string_view text = ahead(std::min(size, kLargestEvent));
    array = eventArrayIn(text);
    if (text.size() < size || size >= kLargestEvent) break;
  }
  if (!array && !first) return false;
  m_at += first ? std::min(*first, array.value_or(*first)) : *array;
  return true;
}

ScannedItem EventScanner::endOrEvents(bool cut) {
  if (m_hasEvents) return end(cut);
  const uint64_t damagedAt = offset();
  if (findEvents()) return takeArray(damagedAt);
  m_at = static_cast<size_t>(damagedAt - m_base);
  return end(cut);
}

ScannedItem EventScanner::nextMember() {
  while (true) {
    const std::optional<ScannedItem> item = tryMember();
    if (item) return *item;
  }
}

std::optional<ScannedItem> EventScanner::tryMember() {
  auto c = skipSpace();
  if (c && *c == ',') {
    ++m_at;
    c = skipSpace();
  }
  m_memberAt = offset();
  if (c && *c == '}') {
    ++m_at;
    return endOrEvents(false);
  }
  if (c && *c == ']' && m_hasEvents) {  // one too many behind the events
    m_itemStart = m_at;
    return ScannedItem{ScannedItem::Kind::Event, {}, std::string_view(m_buffer).substr(m_at, 1), offset(), nullptr};
  }
  if (!c || *c != '"') return endOrEvents(true);
  const auto keyLength = valueLength();
  if (!keyLength) return endOrEvents(true);
  m_key = m_buffer.substr(m_at + 1, *keyLength - 2);
  m_at += *keyLength;
  c = skipSpace();
  if (!c || *c != ':') return endOrEvents(true);
  ++m_at;
  c = skipSpace();
  if (!c) return endOrEvents(true);
  if (m_key == "traceEvents" && *c == '[') {
    ++m_at;
    m_hasEvents = true;
    m_state = State::Events;
    return nextEvent();
  }
  if (!m_hasEvents && isNearlyEventKey(m_key) && (*c == '[' || isObjectOfObjects(ahead()))) {
    ++m_at;
    return takeArray(m_memberAt);
  }
  const uint64_t valueAt = offset();
  const auto length = valueLength();
  if (hidesEvents(length.value_or(kLargestEvent))) return endOrEvents(true);
  if (!length && m_buffer.size() - m_at > kLargestEvent) {
    if (m_hugeMembers++ == 0) m_firstHugeMember = valueAt;
    return passValue() ? std::nullopt : std::optional(endOrEvents(true));
  }
  if (!length || *length == 0) return endOrEvents(true);
  const size_t start = m_at;
  m_at += *length;
  return ScannedItem{ScannedItem::Kind::Member, m_key, std::string_view(m_buffer).substr(start, *length),
                     m_base + start, nullptr};
}

// Where an element or the end of the array had to come. What was damaged last has taken the rest with it.
ScannedItem EventScanner::endOfData() {
  m_isOpen = m_bareArray && m_hasElements && !m_searching && !m_source.problem();
  return end(!m_isOpen);
}

ScannedItem EventScanner::nextEvent() {
  while (true) {
    auto c = skipSpace();
    if (c && *c == ',') {
      ++m_at;
      continue;
    }
    if (!c) return endOfData();
    if (*c == ']' && !isStray()) {
      ++m_at;
      m_searching = false;
      if (m_bareArray) return end(false);
      m_state = State::Members;
      return nextMember();
    }
    m_itemStart = m_at;
    const auto item = [&](size_t length, const ChromeEvent* event) {
      return ScannedItem{ScannedItem::Kind::Event,
                         {},
                         std::string_view(m_buffer).substr(m_itemStart, length),
                         m_base + m_itemStart,
                         event};
    };
    if (*c == '{' && readEvent()) return item(m_at - m_itemStart, &m_event);
    return item(1, nullptr);
  }
}

// The usual case: the whole event is valid. The current byte is then the one behind it. While looking for the end of a
// damage only what is there already is tried, so that many candidates do not cost much each.
bool EventScanner::readEvent() {
  size_t tried = 0;
  while (true) {
    size_t length = 0;
    const std::string_view rest = std::string_view(m_buffer).substr(m_at);
    const EventText found = readChromeEvent(rest, m_event, length);
    if (found == EventText::Whole) {
      m_at += length;
      return true;
    }
    tried = rest.size();
    m_searched += length;
    if (found != EventText::Cut || tried > kLargestEvent || (m_searching && tried > kLargestCandidate)) return false;
    while (m_buffer.size() - m_at < 2 * tried) {
      if (!more()) break;
    }
    if (m_buffer.size() - m_at == tried) return false;
  }
}

// Valid JSON that is no event (a number, an object without a phase) hides nothing.
bool EventScanner::passWhole() {
  while (true) {
    const std::string_view rest = std::string_view(m_buffer).substr(m_at);
    JsonReader reader(rest);
    JsonValue value;
    const bool isValid = reader.value(value, 0);
    // A number or word may go on in what has not been read yet.
    if (isValid && !reader.needsMore()) {
      m_at += static_cast<size_t>(reader.at() - rest.data());
      return true;
    }
    if (!reader.needsMore() || rest.size() > kLargestEvent) return false;
    while (m_buffer.size() - m_at < 2 * rest.size()) {
      if (!more()) break;
    }
    if (m_buffer.size() - m_at == rest.size()) return false;
  }
}

bool EventScanner::reject() {
  m_at = m_itemStart;
  if (m_state == State::Members) {
    while (m_at < m_buffer.size() && (m_buffer[m_at] == ']' || isSpace(m_buffer[m_at]))) ++m_at;
    return true;
  }
  if (!m_searching) {
    if (passWhole()) return true;
    m_searched = m_members = 0;
  }
  const bool isNew = !m_searching || m_isElement;
  const char first = m_buffer[m_at];
  if (isNew) {
    m_isTrusted = !m_searching;
    m_end = ElementEnd(first != '{' && first != '[' && first != '"' && first != '}');
  }
  m_searching = true;
  (void)m_end.step(first);
  m_last = first;
  ++m_at;
  findNext();
  return isNew;
}

// Goes to the next thing after damage: the element behind the damaged one, or what looks like an event, or the end of
// the array. At the end of the data nextEvent() says so.
void EventScanner::findNext() {
  for (;; ++m_at) {
    if (m_at == m_buffer.size()) {
      forget();
      if (!more()) return;
    }
    if (++m_searched > kMostSearched) return drain();
    const char c = m_buffer[m_at];
    if (c == '{' && isStart()) return;
    if (c == ']' && isEnd()) {
      m_searching = false;
      return;
    }
    // An element that was found by a guess may be part of another one: what follows it says nothing.
    if (m_end.step(c) && m_isTrusted && isFollowed(c)) {
      m_searching = false;
      return;
    }
    if (!isSpace(c)) m_last = c;
  }
}

std::string_view EventScanner::ahead(size_t count) {
  if (m_buffer.size() - m_at < count) forget();
  while (m_buffer.size() - m_at < count && more()) {
  }
  return std::string_view(m_buffer).substr(m_at, count);
}
std::string_view EventScanner::ahead() { return ahead(kAhead); }

// Whether the ']' at hand, where the array could end, is one too many. What is looked at here is looked at once: behind
// a stray bracket the search passes the others by, and another one is the end.
bool EventScanner::isStray() {
  const std::string_view text = ahead();
  const BracketRun run = bracketRun(text);
  const bool isEnough = text.size() < kAhead || run.length + kAhead / 2 < text.size();
  return isStrayBracket(isEnough ? text : ahead(kLongestRun));
}

// Whether the ']' at hand seems to close the event array. At the end of the data it may as well be one of an event that
// is cut, unless that has ended before.
bool EventScanner::isEnd() {
  const std::string_view text = ahead();
  return isArrayEnd(text, m_bareArray, text.size() < kAhead && m_end.isLost());
}

// Whether the '{' at hand seems to begin an event, or at least an element when the damaged one's end is not known.
bool EventScanner::isStart() {
  const Start start = startOf(ahead());
  m_isElement = m_last != ':';
  // Members that look like events are seldom any; each that is tried may be long.
  if (start == Start::Event) return m_isElement || ++m_members <= kMostMembers;
  return start == Start::Object && m_end.isLost() && (m_last == ',' || m_last == '[');
}

// Whether the damaged element's end, at hand, is followed by another element or the end of the array. The current byte
// is then the one behind it.
bool EventScanner::isFollowed(char last) {
  const std::string_view text = ahead();
  const bool isBehind = last == '}' || last == ']' || last == '"';  // else a number or word, which ends before it
  size_t at = isBehind && !m_end.isScalar() ? 1 : 0;
  const size_t next = text.find_first_not_of(" \t\r\n", at);
  if (next == std::string_view::npos) return false;
  bool isGood = text[next] == ']' && !isStrayBracket(text.substr(next));
  if (text[next] == ',') {
    const size_t element = text.find_first_not_of(" \t\r\n", next + 1);
    isGood = element != std::string_view::npos && (m_end.isScalar() || text[element] == '{');
  }
  if (isGood) m_at += at;
  return isGood;
}

void EventScanner::drain() {
  do {
    m_base += m_buffer.size();
    m_buffer.clear();
    m_at = 0;
  } while (more());
}

}  // namespace plumb::import
