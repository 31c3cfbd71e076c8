// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/plain_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <charconv>
#include <utility>
#include <vector>

#include "collector/schema/utf8.h"

namespace plumb::import {
namespace {

using Json = nlohmann::json;

// The parser's events into a document; the parser keeps no stack of its own on the machine's stack, nor does this.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(PlainDocument& document, uint64_t offset = 0) : m_document(document), m_offset(offset) {}

  [[nodiscard]] const PlainValue& root() const noexcept { return m_root; }

  bool null() override { return add(PlainValue()); }
  bool boolean(bool value) override { return addInteger(value ? 1 : 0, PlainKind::Boolean); }
  bool number_integer(number_integer_t value) override { return addInteger(value, PlainKind::Integer); }
  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = value <= static_cast<number_unsigned_t>(INT64_MAX);
    return addInteger(static_cast<int64_t>(value), fits ? PlainKind::Integer : PlainKind::LongInteger);
  }
  bool number_float(number_float_t value, const string_t&) override {
    PlainValue real;
    real.kind = PlainKind::Real;
    real.real = value;
    return add(real);
  }
  bool string(string_t& value) override { return add(m_document.makeText(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(PlainKind::Dict); }
  bool start_array(size_t) override { return open(PlainKind::List); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    m_key = m_document.makeText(std::move(name));
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    m_document.setProblem(fmt::format("its JSON ends early or is damaged at byte {}", position), position);
    for (const PlainValue& container : m_open) m_document.markCut(container);
    return false;
  }

 private:
  bool addInteger(int64_t number, PlainKind kind) {
    PlainValue value;
    value.kind = kind;
    value.integer = number;
    return add(value);
  }
  // False when it holds more than anything that is real.
  bool isWithinBounds() {
    constexpr uint64_t kMostValues = uint64_t{16} << 20;
    constexpr size_t kDeepest = 512;
    if (++m_values + 4 * m_document.containerCount() <= kMostValues && m_open.size() <= kDeepest) return true;
    m_document.setProblem(m_open.size() > kDeepest ? fmt::format("its JSON nests deeper than {} levels", kDeepest)
                                                   : fmt::format("its JSON holds more than {} values", kMostValues));
    for (const PlainValue& container : m_open) m_document.markCut(container);
    return false;
  }
  bool add(const PlainValue& value) {
    if (!isWithinBounds()) return false;
    if (m_open.empty()) {
      m_root = value;
      return true;
    }
    auto& items = m_document.mutableItems(m_open.back());
    if (m_open.back().kind == PlainKind::Dict) items.push_back(m_key);
    items.push_back(value);
    return true;
  }
  bool open(PlainKind kind) {
    const PlainValue container = m_document.makeContainer(kind, m_offset);
    if (!add(container)) return false;
    m_open.push_back(container);
    return true;
  }
  bool close() {
    m_open.pop_back();
    return true;
  }

  PlainDocument& m_document;
  uint64_t m_offset;
  std::vector<PlainValue> m_open;
  PlainValue m_key, m_root;
  uint64_t m_values = 0;
};

// Texts of which nothing but the escapes is looked at. The escape of '?' is as long as the others, so offsets stay.
void mendEscapes(std::string& text, PlainDocument& document, uint64_t offset) {
  constexpr size_t kLength = 6;
  const auto unitAt = [&](size_t at) -> int {
    int unit = -1;
    if (text.compare(at, 2, "\\u") != 0 || text.size() - at < kLength) return unit;
    const auto [end, error] = std::from_chars(text.data() + at + 2, text.data() + at + kLength, unit, 16);
    return error == std::errc() && end == text.data() + at + kLength ? unit : -1;
  };
  const auto isFirst = [](int unit) { return unit >= 0xD800 && unit < 0xDC00; };
  const auto isSecond = [](int unit) { return unit >= 0xDC00 && unit < 0xE000; };
  for (size_t at = text.find('\\'); at < text.size(); at = text.find('\\', at)) {
    const int unit = unitAt(at);
    if (isFirst(unit) && at + kLength < text.size() && isSecond(unitAt(at + kLength))) {
      at += 2 * kLength;
    } else if (unit == 0 || isFirst(unit) || isSecond(unit)) {
      document.noteMended(offset + at);
      text.replace(at, kLength, "\\u003f");
      at += kLength;
    } else {
      at += 2;
    }
  }
}

// offset: of the text in the source.
std::string mended(std::string_view original, PlainDocument& document, uint64_t offset) {
  std::string text = schema::toUtf8(original);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != original[i]) document.noteMended(offset + i);
  }
  mendEscapes(text, document, offset);
  return text;
}

bool needsMending(std::string_view text) { return text.find("\\u") != std::string_view::npos || !schema::isUtf8(text); }

}  // namespace

PlainDocument readPlainJson(const std::string& text) {
  PlainDocument document;
  Builder builder(document);
  (void)Json::sax_parse(needsMending(text) ? mended(text, document, 0) : text, &builder);
  document.setRoot(builder.root());
  return document;
}

std::optional<PlainValue> addPlainJson(PlainDocument& document, const std::string& text, uint64_t offset) {
  Builder builder(document, offset);
  const std::optional<std::string> problem = document.problem();
  const std::optional<uint64_t> problemAt = document.problemAt();
  const bool isWhole = Json::sax_parse(needsMending(text) ? mended(text, document, offset) : text, &builder);
  document.restoreProblem(problem, problemAt);
  return isWhole ? std::optional(builder.root()) : std::nullopt;
}

}  // namespace plumb::import
