// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/plain_document.h"

#include <cmath>
#include <utility>

namespace plumb::import {

std::optional<int64_t> PlainValue::toInteger() const noexcept {
  if (kind == PlainKind::Integer || kind == PlainKind::Boolean) return integer;
  constexpr double kLimit = 9.2e18;
  if (kind == PlainKind::Real && std::abs(real) < kLimit && std::trunc(real) == real) return static_cast<int64_t>(real);
  return std::nullopt;
}

std::optional<double> PlainValue::toReal() const noexcept {
  if (kind == PlainKind::Real && std::isfinite(real)) return real;
  if (kind == PlainKind::Integer || kind == PlainKind::Boolean) return static_cast<double>(integer);
  return std::nullopt;
}

std::span<const PlainValue> PlainDocument::items(const PlainValue& container) const noexcept {
  if (!container.isContainer()) return {};
  return m_containers[static_cast<size_t>(container.integer)].items;
}

const PlainValue* PlainDocument::find(const PlainValue& dict, std::string_view key) const noexcept {
  if (dict.kind != PlainKind::Dict) return nullptr;
  const auto all = items(dict);
  for (size_t i = all.size() / 2; i-- > 0;) {
    const PlainValue& name = all[2 * i];
    if (name.kind == PlainKind::Text && name.view() == key) return &all[2 * i + 1];
  }
  return nullptr;
}

std::optional<int64_t> PlainDocument::integer(const PlainValue& dict, std::string_view key) const noexcept {
  const PlainValue* found = find(dict, key);
  return found ? found->toInteger() : std::nullopt;
}

std::string_view PlainDocument::text(const PlainValue& dict, std::string_view key) const noexcept {
  const PlainValue* found = find(dict, key);
  return found && found->kind == PlainKind::Text ? found->view() : std::string_view();
}

bool PlainDocument::isCut(const PlainValue& value) const noexcept {
  return value.isContainer() && m_containers[static_cast<size_t>(value.integer)].isCut;
}

uint64_t PlainDocument::offset(const PlainValue& container) const noexcept {
  return container.isContainer() ? m_containers[static_cast<size_t>(container.integer)].offset : 0;
}

PlainValue PlainDocument::makeContainer(PlainKind kind, uint64_t offset) {
  PlainValue value;
  value.kind = kind;
  value.integer = static_cast<int64_t>(m_containers.size());
  m_containers.emplace_back().offset = offset;
  return value;
}

std::vector<PlainValue>& PlainDocument::mutableItems(const PlainValue& container) {
  return m_containers[static_cast<size_t>(container.integer)].items;
}

PlainValue PlainDocument::makeText(std::string text) {
  const std::string& kept = m_texts.emplace_back(std::move(text));
  PlainValue value;
  value.kind = PlainKind::Text;
  value.length = static_cast<uint32_t>(kept.size());
  value.text = kept.data();
  return value;
}

std::string_view PlainDocument::keep(std::string bytes) {
  m_bytes = std::make_unique<std::string>(std::move(bytes));
  return *m_bytes;
}

void PlainDocument::markCut(const PlainValue& container) noexcept {
  if (container.isContainer()) m_containers[static_cast<size_t>(container.integer)].isCut = true;
}

}  // namespace plumb::import
