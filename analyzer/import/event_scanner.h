// SPDX-License-Identifier: Apache-2.0
// Finds the events of a Chrome trace ({"traceEvents": [ … ], other members } or a bare array) in a stream, one at a
// time, whatever the size of the file. Damage costs the event that it is in: the scanner goes on at the next thing that
// looks like the start of an event.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/import/byte_source.h"
#include "analyzer/import/chrome_event.h"
#include "analyzer/import/element_end.h"

namespace plumb::import {

struct ScannedItem {
  enum class Kind : uint8_t {
    Event,   // text: an element of the array
    Member,  // text: the value of a member beside traceEvents; key: its name
    End,
  };
  Kind kind = Kind::End;
  std::string_view key, text;  // valid until the next call of the scanner
  uint64_t offset = 0;         // of text in the (decompressed) data
  // Of an Event: as it was read; null: it is damaged, or at least no whole event. Valid as long as text.
  const ChromeEvent* event = nullptr;
};

class EventScanner {
 public:
  explicit EventScanner(ByteSource source) : m_source(std::move(source)) {}

  // What the data begins with, at most `count` bytes, more than that only if they are there already.
  [[nodiscard]] std::string_view peek(size_t count);

  [[nodiscard]] ScannedItem next();
  // The last event is good.
  void accept() noexcept {
    m_searching = false;
    m_hasElements = true;
  }
  // The last event is damaged, or none: looks for the next one behind its start. True when it is an element of its own,
  // to be counted; false for a candidate that seems to be part of the damaged one before.
  [[nodiscard]] bool reject();

  // After End. The data stopped before its root was closed, or what follows the events is damaged.
  [[nodiscard]] bool isCut() const noexcept { return m_cut; }
  // After End, and then it is not cut: the root is an array of events that ends behind a whole one, without its
  // bracket. The format allows that, for tracers that write as they go.
  [[nodiscard]] bool isOpen() const noexcept { return m_isOpen; }
  // After End: of the data that follows the root, blanks at its beginning left out. It is not looked at.
  [[nodiscard]] uint64_t bytesBehind() const noexcept { return m_bytesBehind; }
  [[nodiscard]] bool hasEventArray() const noexcept { return m_hasEvents; }
  [[nodiscard]] uint64_t offset() const noexcept { return m_base + m_at; }
  // After End. Where the data before the events is damaged, which are then found by what they look like.
  [[nodiscard]] std::optional<uint64_t> damagedHead() const noexcept { return m_damagedHead; }
  [[nodiscard]] uint64_t eventsAt() const noexcept { return m_eventsAt; }
  // Members beside traceEvents that were passed over because they are larger than any real one.
  [[nodiscard]] uint64_t hugeMembers() const noexcept { return m_hugeMembers; }
  [[nodiscard]] uint64_t firstHugeMember() const noexcept { return m_firstHugeMember; }
  [[nodiscard]] const ByteSource& source() const noexcept { return m_source; }

 private:
  enum class State : uint8_t { Root, Members, Events, Done };

  [[nodiscard]] bool more();
  // The next byte that is no white space, which becomes the current one; no value at the end of the data. What lies
  // before it may be forgotten: no view into the buffer is in use.
  [[nodiscard]] std::optional<char> skipSpace();
  // The length of the value at the current byte; no value when it does not end or cannot be one.
  [[nodiscard]] std::optional<size_t> valueLength();
  // Goes behind the value at the current byte without keeping it; false when it does not end.
  [[nodiscard]] bool passValue();
  void forget();
  [[nodiscard]] ScannedItem nextMember();
  [[nodiscard]] std::optional<ScannedItem> tryMember();  // none: it was passed over
  [[nodiscard]] ScannedItem nextEvent();
  [[nodiscard]] ScannedItem takeArray(uint64_t damagedAt);
  [[nodiscard]] bool hidesEvents(size_t length);
  [[nodiscard]] bool findEvents();
  [[nodiscard]] ScannedItem endOrEvents(bool cut);
  [[nodiscard]] bool readEvent();
  [[nodiscard]] ScannedItem end(bool cut);
  [[nodiscard]] ScannedItem endOfData();
  [[nodiscard]] bool passWhole();
  void findNext();
  void drain();                                        // passes over the rest of the data
  [[nodiscard]] std::string_view ahead(size_t count);  // from the current byte
  [[nodiscard]] std::string_view ahead();              // enough for the first key of an event
  [[nodiscard]] bool isStray();
  [[nodiscard]] bool isStart();
  [[nodiscard]] bool isEnd();
  [[nodiscard]] bool isFollowed(char last);

  ByteSource m_source;
  std::string m_buffer;
  size_t m_at = 0;      // the current byte, in m_buffer
  uint64_t m_base = 0;  // offset of m_buffer in the data
  size_t m_itemStart = 0;
  State m_state = State::Root;
  bool m_bareArray = false;
  bool m_hasEvents = false;
  bool m_hasElements = false;  // a good event
  bool m_searching = false;    // after damage, until an event is good
  bool m_cut = false;
  bool m_isOpen = false;
  uint64_t m_searched = 0;  // bytes looked at since the damage
  uint64_t m_members = 0;   // objects tried since then that seemed to be part of it
  ElementEnd m_end;         // of the damaged element
  bool m_isTrusted = true;  // the damaged element is one for sure
  bool m_isElement = true;  // what was found after damage does not seem to be part of it
  char m_last = '\0';       // before the current byte, blanks left out
  uint64_t m_hugeMembers = 0, m_firstHugeMember = 0;
  uint64_t m_bytesBehind = 0;
  uint64_t m_memberAt = 0;  // offset of the member at hand
  std::optional<uint64_t> m_damagedHead;
  uint64_t m_eventsAt = 0;
  std::string m_key;
  ChromeEvent m_event;
};

}  // namespace plumb::import
