// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analyzer/import/pickle_text.h"

namespace plumb::import {
namespace {

struct Refused {
  unsigned char opcode;
  const char* name;
};
// They name classes and functions, call them, or ask the program for objects of its own.
constexpr Refused kRefused[] = {
    {'c', "GLOBAL"}, {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},     {'b', "BUILD"},        {'i', "INST"},
    {'o', "OBJ"},    {0x81, "NEWOBJ"},       {0x92, "NEWOBJ_EX"}, {0x82, "EXT1"},        {0x83, "EXT2"},
    {0x84, "EXT4"},  {'P', "PERSID"},        {'Q', "BINPERSID"},  {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
};

constexpr unsigned char kProtocol = 0x80;  // the opcode
constexpr int kFirstWithHead = 2, kNewestProtocol = 5;
// Containers are larger than values.
constexpr uint64_t kContainerCost = 4;

// The protocol's opcode and a number, or one of them and what every writer puts behind them.
bool hasHead(std::string_view head) {
  const bool hasOpcode = static_cast<unsigned char>(head[0]) == kProtocol;
  const auto number = static_cast<unsigned char>(head[1]);
  const bool hasNumber = number >= kFirstWithHead && number <= kNewestProtocol;
  if (hasOpcode && number >= kFirstWithHead && number <= kNewestProtocol + 4) return true;
  if (!hasOpcode && !hasNumber) return false;
  constexpr size_t kFrame = 9;  // its opcode and the eight bytes of its length
  if (head.size() > 2 && static_cast<unsigned char>(head[2]) == 0x95)
    head.remove_prefix(std::min(kFrame, head.size() - 3));
  const std::string_view behind = head.substr(2);
  return behind.size() > 1 && (behind[0] == '}' || behind[0] == ']') &&
         (behind[1] == '\x94' || behind[1] == 'q' || behind[1] == 'r');  // a container and its memo
}

class Machine {
 public:
  Machine(std::string bytes, uint64_t mostValues, AtRefusal atRefusal)
      : m_data(m_document.keep(std::move(bytes))), m_mostValues(mostValues), m_atRefusal(atRefusal) {}

  [[nodiscard]] Result<PlainDocument> run() {
    readHead();
    while (!m_stopped && !m_refusal && m_trouble.empty()) {
      if (m_at >= m_data.size()) {
        m_trouble = fmt::format("its pickle data ends early, at byte {}", m_data.size());
        break;
      }
      m_opcodeAt = m_at;
      const auto opcode = static_cast<unsigned char>(m_data[m_at++]);
      step(opcode);
      if (m_values > m_mostValues) m_refusal = fmt::format("it holds more than {} values", m_mostValues);
    }
    if (m_refusal) return Error{*m_refusal};
    if (!m_trouble.empty()) {
      m_document.setProblem(m_trouble);
      salvage();
    } else if (!m_damagedHead.empty()) {
      m_document.setProblem(m_damagedHead);
    }
    m_document.setRoot(m_stack.empty() ? PlainValue() : m_stack.back());
    return std::move(m_document);
  }

 private:
  // The protocol and its number: what they are changes nothing, so damage there costs nothing.
  void readHead() {
    if (m_data.size() < 2 || !hasHead(m_data)) return;
    const auto first = static_cast<unsigned char>(m_data[0]), protocol = static_cast<unsigned char>(m_data[1]);
    if (first == kProtocol && protocol >= kFirstWithHead && protocol <= kNewestProtocol) return;
    m_damagedHead = fmt::format("its pickle data is damaged at byte {}: there is no pickle protocol {}",
                                first == kProtocol ? 1 : 0, protocol);
    m_at = 2;
  }

  void damage(std::string_view what) {
    if (m_trouble.empty()) m_trouble = fmt::format("its pickle data is damaged at byte {}: {}", m_opcodeAt, what);
  }

  [[nodiscard]] std::string_view take(uint64_t count) {
    if (count > m_data.size() - m_at) {
      if (m_trouble.empty()) m_trouble = fmt::format("its pickle data ends early, at byte {}", m_data.size());
      m_at = m_data.size();
      return {};
    }
    const std::string_view result = m_data.substr(m_at, count);
    m_at += count;
    return result;
  }
  [[nodiscard]] std::string_view takeLine() {
    const size_t end = m_data.find('\n', m_at);
    if (end == std::string_view::npos) return take(m_data.size() - m_at + 1);  // ends early
    const std::string_view line = m_data.substr(m_at, end - m_at);
    m_at = end + 1;
    return line;
  }
  [[nodiscard]] uint64_t takeUnsigned(size_t bytes) {
    const std::string_view text = take(bytes);
    uint64_t value = 0;
    for (size_t i = text.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(text[i]);
    return value;
  }

  void push(const PlainValue& value) {
    if (!m_trouble.empty()) return;  // of a value that the data broke off in
    ++m_values;
    m_stack.push_back(value);
  }
  void pushInteger(int64_t number, PlainKind kind = PlainKind::Integer) {
    PlainValue value;
    value.kind = kind;
    value.integer = number;
    push(value);
  }
  void pushReal(double number) {
    PlainValue value;
    value.kind = PlainKind::Real;
    value.real = number;
    push(value);
  }
  void pushText(std::string_view text, PlainKind kind = PlainKind::Text) {
    if (!m_trouble.empty()) return;
    if (text.size() > UINT32_MAX) return damage("a text of more than 4 GiB");
    PlainValue value;
    value.kind = kind;
    value.length = static_cast<uint32_t>(text.size());
    value.text = text.data();
    push(value);
  }
  void pushContainer(PlainKind kind) {
    m_values += kContainerCost;
    push(m_document.makeContainer(kind, m_opcodeAt));
  }

  // Where the items of the innermost mark begin; the mark is taken away.
  [[nodiscard]] std::optional<size_t> popMark() {
    if (m_marks.empty()) {
      damage("a mark is missing");
      return std::nullopt;
    }
    const size_t first = m_marks.back();
    m_marks.pop_back();
    return first;
  }
  // The lowest value that opcodes may touch without a mark of their own.
  [[nodiscard]] size_t floor() const { return m_marks.empty() ? 0 : m_marks.back(); }
  [[nodiscard]] bool has(size_t count) {
    if (m_stack.size() - floor() >= count) return true;
    damage("a value is missing");
    return false;
  }

  void extend(PlainKind wanted, size_t first) {
    const bool isAllowed = first > floor() && m_stack[first - 1].kind == wanted;
    if (!isAllowed) return damage("items for something that cannot hold them");
    if (wanted == PlainKind::Dict && (m_stack.size() - first) % 2 != 0) return damage("a key without a value");
    auto& items = m_document.mutableItems(m_stack[first - 1]);
    items.insert(items.end(), m_stack.begin() + static_cast<std::ptrdiff_t>(first), m_stack.end());
    m_stack.resize(first);
  }
  void extendFromMark(PlainKind wanted) {
    if (const auto first = popMark()) extend(wanted, *first);
  }
  void collect(PlainKind kind, size_t first) {
    if (kind == PlainKind::Dict && (m_stack.size() - first) % 2 != 0) return damage("a key without a value");
    m_values += kContainerCost;
    const PlainValue made = m_document.makeContainer(kind, m_opcodeAt);
    m_document.mutableItems(made).assign(m_stack.begin() + static_cast<std::ptrdiff_t>(first), m_stack.end());
    m_stack.resize(first);
    push(made);
  }
  void collectFromMark(PlainKind kind) {
    if (const auto first = popMark()) collect(kind, *first);
  }
  void collectTop(PlainKind kind, size_t count) {
    if (has(count)) collect(kind, m_stack.size() - count);
  }

  void put(uint64_t number) {
    if (!m_trouble.empty() || !has(1)) return;
    // Numbers count up in all real files, so a vector holds them; others cannot make it large.
    if (number < m_memo.size()) {
      m_memo[number] = m_stack.back();
    } else if (number == m_memo.size()) {
      if (!m_sparseMemo.empty()) m_sparseMemo.erase(number);
      m_memo.push_back(m_stack.back());
      ++m_values;
    } else {
      m_values += kContainerCost;
      m_sparseMemo.insert_or_assign(number, m_stack.back());
    }
  }
  void get(uint64_t number) {
    if (!m_trouble.empty()) return;
    if (const auto found = m_sparseMemo.find(number); found != m_sparseMemo.end()) return push(found->second);
    if (number >= m_memo.size()) return damage("a reference to nothing");
    push(m_memo[number]);
  }
  [[nodiscard]] uint64_t takeDecimal() {
    const std::string_view line = takeLine();
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc() || end != line.data() + line.size()) damage("a number is none");
    return value;
  }

  void pushDecimal(std::string_view line) {
    if (!m_trouble.empty()) return;
    if (line == "00" || line == "01") return pushInteger(line[1] - '0', PlainKind::Boolean);
    if (!line.empty() && line.back() == 'L') line.remove_suffix(1);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error == std::errc::result_out_of_range) return pushInteger(0, PlainKind::LongInteger);
    if (error != std::errc() || end != line.data() + line.size()) return damage("a number is none");
    pushInteger(value);
  }
  void pushLong(std::string_view text) {
    if (!m_trouble.empty()) return;
    if (text.size() > 8) return pushInteger(0, PlainKind::LongInteger);
    uint64_t value = !text.empty() && (text.back() & 0x80) != 0 ? UINT64_MAX : 0;
    for (size_t i = text.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(text[i]);
    pushInteger(static_cast<int64_t>(value));
  }
  void pushFloatText(std::string_view line) {
    if (!m_trouble.empty()) return;
    double value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error == std::errc::invalid_argument || end != line.data() + line.size()) return damage("a number is none");
    pushReal(value);
  }
  void pushFloatBits(std::string_view text) {
    if (!m_trouble.empty()) return;
    uint64_t bits = 0;
    for (const char c : text) bits = bits << 8 | static_cast<unsigned char>(c);  // big-endian
    pushReal(std::bit_cast<double>(bits));
  }
  void pushQuoted(std::string_view line) {
    if (!m_trouble.empty()) return;
    if (line.size() < 2 || line.front() != line.back()) return damage("a text without quotes");
    push(m_document.makeText(unescaped(line.substr(1, line.size() - 2))));
  }

  void step(unsigned char opcode) {
    if (stepScalar(opcode) || stepStructure(opcode)) return;
    for (const Refused& refused : kRefused) {
      if (refused.opcode != opcode) continue;
      std::string why = fmt::format(
          "its pickle data holds the opcode {} at byte {}, which would construct or call something; only plain data "
          "(lists, dictionaries, texts, numbers) is read",
          refused.name, m_opcodeAt);
      if (m_atRefusal == AtRefusal::Fail) {
        m_refusal = std::move(why);
      } else {
        m_trouble = std::move(why);
      }
      return;
    }
    damage(fmt::format("there is no opcode 0x{:02x}", opcode));
  }

  bool stepScalar(unsigned char opcode) {
    switch (opcode) {
      case 'N':
        return push(PlainValue()), true;
      case 0x88:
        return pushInteger(1, PlainKind::Boolean), true;
      case 0x89:
        return pushInteger(0, PlainKind::Boolean), true;
      case 'I':
      case 'L':
        return pushDecimal(takeLine()), true;
      case 'J':
        return pushInteger(static_cast<int32_t>(takeUnsigned(4))), true;
      case 'K':
        return pushInteger(static_cast<int64_t>(takeUnsigned(1))), true;
      case 'M':
        return pushInteger(static_cast<int64_t>(takeUnsigned(2))), true;
      case 0x8a:
        return pushLong(take(takeUnsigned(1))), true;
      case 0x8b:
        return pushLong(take(takeUnsigned(4))), true;
      case 'F':
        return pushFloatText(takeLine()), true;
      case 'G':
        return pushFloatBits(take(8)), true;
      case 'S':
        return pushQuoted(takeLine()), true;
      case 'V':
        return push(m_document.makeText(unescaped(takeLine()))), true;
      case 'U':
      case 0x8c:
        return pushText(take(takeUnsigned(1))), true;
      case 'T':
      case 'X':
        return pushText(take(takeUnsigned(4))), true;
      case 0x8d:
        return pushText(take(takeUnsigned(8))), true;
      case 'C':
        return pushText(take(takeUnsigned(1)), PlainKind::Bytes), true;
      case 'B':
        return pushText(take(takeUnsigned(4)), PlainKind::Bytes), true;
      case 0x8e:
      case 0x96:
        return pushText(take(takeUnsigned(8)), PlainKind::Bytes), true;
      default:
        return false;
    }
  }

  bool stepStructure(unsigned char opcode) {
    switch (opcode) {
      case ']':
        return pushContainer(PlainKind::List), true;
      case ')':
        return pushContainer(PlainKind::Tuple), true;
      case '}':
        return pushContainer(PlainKind::Dict), true;
      case 0x8f:
        return pushContainer(PlainKind::Set), true;
      case '(':
        return m_marks.push_back(m_stack.size()), ++m_values, true;
      case 'a':
        if (has(2)) extend(PlainKind::List, m_stack.size() - 1);
        return true;
      case 'e':
        return extendFromMark(PlainKind::List), true;
      case 's':
        if (has(3)) extend(PlainKind::Dict, m_stack.size() - 2);
        return true;
      case 'u':
        return extendFromMark(PlainKind::Dict), true;
      case 0x90:
        return extendFromMark(PlainKind::Set), true;
      case 'l':
        return collectFromMark(PlainKind::List), true;
      case 't':
        return collectFromMark(PlainKind::Tuple), true;
      case 'd':
        return collectFromMark(PlainKind::Dict), true;
      case 0x91:
        return collectFromMark(PlainKind::Set), true;
      case 0x85:
      case 0x86:
      case 0x87:
        return collectTop(PlainKind::Tuple, opcode - 0x84u), true;
      case 'q':
        return put(takeUnsigned(1)), true;
      case 'r':
        return put(takeUnsigned(4)), true;
      case 'p':
        return put(takeDecimal()), true;
      case 0x94:
        return put(m_memo.size()), true;
      case 'h':
        return get(takeUnsigned(1)), true;
      case 'j':
        return get(takeUnsigned(4)), true;
      case 'g':
        return get(takeDecimal()), true;
      default:
        return stepControl(opcode);
    }
  }

  bool stepControl(unsigned char opcode) {
    switch (opcode) {
      case '.':
        if (has(1)) m_stopped = true;
        return true;
      case '0':
        if (has(1)) m_stack.pop_back();
        return true;
      case '1':
        if (const auto first = popMark()) m_stack.resize(*first);
        return true;
      case '2':
        if (has(1)) push(PlainValue(m_stack.back()));
        return true;
      case kProtocol:
        if (const auto protocol = takeUnsigned(1); protocol > kNewestProtocol)
          damage(fmt::format("there is no pickle protocol {}", protocol));
        return true;
      case 0x95:
        (void)take(8);  // a frame's length, of no use here
        return true;
      default:
        return false;
    }
  }

  // What is still on the stack goes where it was on its way to, innermost first, so that everything that was complete
  // before the break is found.
  void salvage() {
    if (!m_stack.empty() && m_document.items(m_stack.back()).empty()) m_document.markCut(m_stack.back());
    while (!m_marks.empty()) {
      const size_t first = m_marks.back();
      m_marks.pop_back();
      settle(first);
    }
    settle(std::min<size_t>(1, m_stack.size()));
  }

  // The values from `first` on into the container below them.
  void settle(size_t first) {
    if (first == 0 || !m_stack[first - 1].isContainer()) {
      m_stack.resize(std::min(first, m_stack.size()));
      return;
    }
    const PlainValue target = m_stack[first - 1];
    m_document.markCut(target);
    const std::vector<PlainValue> pending(m_stack.begin() + static_cast<std::ptrdiff_t>(first), m_stack.end());
    m_stack.resize(first);
    for (size_t i = 0; i < pending.size(); ++i) {
      const bool isPair = target.kind == PlainKind::Dict;
      auto& items = m_document.mutableItems(target);
      if (!isPair) {
        // A single item behind a list is on its way into that list.
        const bool isNested = i > 0 && pending[i - 1].kind == PlainKind::List && i + 1 == pending.size();
        if (isNested && pending[i - 1].integer != target.integer) {
          m_document.mutableItems(pending[i - 1]).push_back(pending[i]);
          m_document.markCut(pending[i - 1]);
        } else {
          items.push_back(pending[i]);
        }
      } else if (pending[i].kind == PlainKind::Text && i + 1 < pending.size()) {
        items.push_back(pending[i]);
        items.push_back(pending[i + 1]);
        ++i;
      } else if (pending[i].kind != PlainKind::Text && !items.empty() && items.back().kind == PlainKind::List) {
        const PlainValue list = items.back();
        m_document.markCut(list);
        m_document.mutableItems(list).push_back(pending[i]);
      }
    }
  }

  PlainDocument m_document;
  std::string_view m_data;
  uint64_t m_mostValues;
  AtRefusal m_atRefusal;
  std::string m_damagedHead;
  size_t m_at = 0, m_opcodeAt = 0;
  std::vector<PlainValue> m_stack;
  std::vector<size_t> m_marks;
  std::vector<PlainValue> m_memo;
  std::unordered_map<uint64_t, PlainValue> m_sparseMemo;
  uint64_t m_values = 0;
  bool m_stopped = false;
  std::optional<std::string> m_refusal;
  std::string m_trouble;
};

}  // namespace

bool looksLikePickle(std::string_view head) {
  if (head.size() < 2) return false;
  if (hasHead(head)) return true;
  // Protocols 0 and 1: a mark and a dictionary or list, or an empty one and its memo.
  const std::string_view two = head.substr(0, 2);
  return two == "(d" || two == "(l" || two == "}q" || two == "]q" || two == "}(" || two == "](";
}

Result<PlainDocument> readPickle(std::string bytes, uint64_t mostValues, AtRefusal atRefusal) {
  return Machine(std::move(bytes), mostValues, atRefusal).run();
}

}  // namespace plumb::import
