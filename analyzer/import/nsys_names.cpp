// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys_names.h"

#include <utility>

#include "collector/schema/kernel_name.h"

namespace plumb::import {
namespace {

bool removeVersion(std::string_view& name) {
  size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  if (end == name.size() || end < 3 || name[end - 1] != 'v' || name[end - 2] != '_') return false;
  name = name.substr(0, end - 2);
  return true;
}

bool removeStreamSuffix(std::string_view& name) {
  if (!name.ends_with("_ptsz") && !name.ends_with("_ptds")) return false;
  name.remove_suffix(5);
  return true;
}

}  // namespace

std::string_view plainApiName(std::string_view name) {
  std::string_view plain = name;
  while (plain.starts_with('_')) plain.remove_prefix(1);
  // Both orders of the suffixes occur, and names such as cudaStreamGetCaptureInfo_v2_ptsz_v11030 have two versions.
  while (removeVersion(plain) || removeStreamSuffix(plain)) {
  }
  return plain.empty() ? name : plain;
}

NsysNames::NsysNames(NsysSource& source, TraceFile& file) : m_file(file) {
  if (!source.has("StringIds")) return;
  source.markRead(source.nameOf("StringIds"));
  if (source.isRowId("StringIds", "id")) {
    auto statement = source.database().prepare("SELECT value FROM main.StringIds WHERE id = ?");
    if (statement.ok()) m_lookUp.emplace(std::move(statement).value());
  }
  if (m_lookUp) return;
  source.forEach("StringIds", {"id", "value"},
                 [&](const NsysRow& row) { m_loaded.emplace(row.integerOr(0, 0), std::string(row.text(1))); });
}

std::optional<std::string> NsysNames::find(int64_t id) {
  if (!m_lookUp) {
    const auto found = m_loaded.find(id);
    return found == m_loaded.end() ? std::nullopt : std::optional(found->second);
  }
  m_lookUp->bind(1, id);
  std::optional<std::string> text;
  if (m_lookUp->next()) text = std::string(m_lookUp->text(0));
  m_lookUp->reset();
  return text;
}

std::string NsysNames::text(int64_t id) { return find(id).value_or("?"); }

int64_t NsysNames::textId(int64_t id) {
  const auto [entry, isNew] = m_ids.try_emplace(id, 0);
  if (!isNew) return entry->second;
  const auto text = find(id);
  if (!text) ++m_missing;
  entry->second = m_file.textId(text ? std::string_view(*text) : "?");
  return entry->second;
}

int64_t NsysNames::apiNameId(int64_t id) {
  const auto [entry, isNew] = m_apiIds.try_emplace(id, 0);
  if (!isNew) return entry->second;
  const auto text = find(id);
  if (!text) ++m_missing;
  entry->second = m_file.textId(text ? plainApiName(*text) : "?");
  return entry->second;
}

KernelNameIds NsysNames::kernelNameIds(std::optional<int64_t> demangled, std::optional<int64_t> shortName,
                                       std::optional<int64_t> mangled) {
  const int64_t given = demangled ? *demangled : mangled ? *mangled : shortName.value_or(0);
  const auto [entry, isNew] = m_kernels.try_emplace({given, mangled.value_or(-1)});
  if (!isNew) return entry->second;
  const auto orElse = [&](std::optional<int64_t> id, auto&& make) {
    const auto text = id ? find(*id) : std::nullopt;
    return text ? *text : make();
  };
  const auto text = find(given);
  if (!text) ++m_missing;
  const std::string full = schema::demangle(text.value_or("?"));
  // Nsight's short name is that of the outermost template, 'Kernel2' for all of CUTLASS: the same name as of other
  // sources says more. Where the full name is missing it is all there is.
  const bool hasFull = text && (demangled || mangled);
  const std::string brief =
      hasFull ? schema::shortKernelName(full) : orElse(shortName, [&] { return schema::shortKernelName(full); });
  entry->second = {m_file.textId(full), m_file.textId(brief), m_file.textId(orElse(mangled, [&] { return full; }))};
  return entry->second;
}

}  // namespace plumb::import
