// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/event_scanner.h"

#include <algorithm>
#include <array>

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

bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// What the first member of an event is called; the first one of an event's args is not.
bool isEventKey(std::string_view key) {
  static constexpr std::array<std::string_view, 9> kKeys = {"ph", "name", "cat", "pid", "tid", "ts", "dur", "id", "s"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

// False: not the start of an event, or too little of it is there to say.
bool looksLikeEvent(std::string_view text) {
  size_t at = 1;
  while (at < text.size() && isSpace(text[at])) ++at;
  if (at == text.size() || text[at] != '"') return false;
  const size_t close = text.find('"', at + 1);
  return close != std::string_view::npos && isEventKey(text.substr(at + 1, close - at - 1));
}

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
  return {ScannedItem::Kind::End, {}, {}, offset(), nullptr};
}

ScannedItem EventScanner::next() {
  forget();
  if (m_state == State::Root) {
    const auto first = skipSpace();
    if (!first) return end(true);
    if (*first != '{' && *first != '[') return end(true);
    m_bareArray = *first == '[';
    m_hasEvents = m_bareArray;
    m_state = m_bareArray ? State::Events : State::Members;
    ++m_at;
  }
  if (m_state == State::Events) return nextEvent();
  if (m_state == State::Members) return nextMember();
  return {ScannedItem::Kind::End, {}, {}, offset(), nullptr};
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
  if (c && *c == '}') {
    ++m_at;
    return end(false);
  }
  if (!c || *c != '"') return end(true);
  const auto keyLength = valueLength();
  if (!keyLength) return end(true);
  m_key = m_buffer.substr(m_at + 1, *keyLength - 2);
  m_at += *keyLength;
  c = skipSpace();
  if (!c || *c != ':') return end(true);
  ++m_at;
  c = skipSpace();
  if (!c) return end(true);
  if (m_key == "traceEvents" && *c == '[') {
    ++m_at;
    m_hasEvents = true;
    m_state = State::Events;
    return nextEvent();
  }
  const uint64_t valueAt = offset();
  const auto length = valueLength();
  if (!length && m_buffer.size() - m_at > kLargestEvent) {
    if (m_hugeMembers++ == 0) m_firstHugeMember = valueAt;
    return passValue() ? std::nullopt : std::optional(end(true));
  }
  if (!length || *length == 0) return end(true);
  const size_t start = m_at;
  m_at += *length;
  return ScannedItem{ScannedItem::Kind::Member, m_key, std::string_view(m_buffer).substr(start, *length),
                     m_base + start, nullptr};
}

ScannedItem EventScanner::nextEvent() {
  while (true) {
    auto c = skipSpace();
    if (c && *c == ',') {
      ++m_at;
      continue;
    }
    if (!c) return end(true);
    if (*c == ']') {
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
    // Given to the user all the same, who rejects it, so that damage is counted in one place.
    const auto length = valueLength();
    if (!length || *length == 0) return item(1, nullptr);
    m_at += *length;
    return item(*length, nullptr);
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
    if (found != EventText::Cut || tried > kLargestEvent || (m_searching && tried > kLargestCandidate)) return false;
    while (m_buffer.size() - m_at < 2 * tried) {
      if (!more()) break;
    }
    if (m_buffer.size() - m_at == tried) return false;
  }
}

bool EventScanner::reject() {
  const bool isNew = !m_searching;
  if (isNew) m_searched = 0;
  const size_t after = m_at;
  m_at = m_itemStart + 1;
  // An element that is complete but no event (a number, a string) hides nothing.
  const char first = m_buffer[m_itemStart];
  if (first != '{' && first != '"' && after > m_itemStart + 1) {
    m_at = after;
    return true;
  }
  m_searching = true;
  if (!findEventStart()) m_state = State::Events;  // the end of the data: nextEvent() says so
  return isNew;
}

bool EventScanner::findEventStart() {
  constexpr size_t kEnough = 256;  // for the first key of an event
  while (true) {
    const size_t found = m_buffer.find('{', m_at);
    m_searched += std::min(found, m_buffer.size()) - m_at;
    if (m_searched > kMostSearched) {
      m_at = m_buffer.size();
      while (more()) {
        m_base += m_buffer.size();
        m_buffer.clear();
        m_at = 0;
      }
      m_at = m_buffer.size();
      return false;
    }
    if (found == std::string::npos) {
      m_at = m_buffer.size();
      forget();
      if (!more()) return false;
      continue;
    }
    m_at = found;
    while (m_buffer.size() - m_at < kEnough && more()) {
    }
    if (looksLikeEvent(std::string_view(m_buffer).substr(m_at, kEnough))) return true;
    ++m_at;
    forget();
  }
}

}  // namespace plumb::import
