// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/string_table.h"

#include "collector/schema/kernel_name.h"
#include "collector/schema/utf8.h"

namespace plumb::recorder {

StringTable::StringTable(Writer& writer) : m_writer(writer) { (void)idOf(""); }

int64_t StringTable::idOf(std::string_view text) {
  if (const auto found = m_ids.find(text); found != m_ids.end()) return found->second;
  if (!isUtf8(text)) return idOf(toUtf8(text));
  if (m_bytes + text.size() > kMaxBytes && text != "?") {
    ++m_refused;
    return unknown();
  }
  m_bytes += text.size();
  const auto id = static_cast<int64_t>(m_texts.size());
  const auto [entry, isNew] = m_ids.emplace(text, id);
  m_texts.push_back(&entry->first);
  m_writer.insert(StringRow{.id = id, .text = entry->first});
  return id;
}

void ProcessStrings::define(StringId hash, std::string_view text) {
  if (m_ids.size() < kMaxTexts) m_ids.emplace(hash, m_table.idOf(text));
}

std::optional<int64_t> ProcessStrings::find(StringId hash) {
  if (hash == 0) return 0;
  if (const auto found = m_ids.find(hash); found != m_ids.end()) return found->second;
  if (!m_acceptUnknown) return std::nullopt;
  ++m_unknown;
  return m_table.unknown();
}

std::optional<KernelNames> ProcessStrings::findKernel(StringId hash) {
  const auto mangled = find(hash);
  if (!mangled) return std::nullopt;
  if (const auto found = m_kernels.find(*mangled); found != m_kernels.end()) return found->second;
  const std::string full = demangle(text(*mangled));
  const KernelNames names{m_table.idOf(full), m_table.idOf(shortKernelName(full)), *mangled};
  m_kernels.emplace(*mangled, names);
  return names;
}

}  // namespace plumb::recorder
