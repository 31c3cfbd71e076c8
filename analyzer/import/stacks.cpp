// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/stacks.h"

#include <string_view>
#include <vector>

#include "analyzer/import/stack_frames.h"

namespace plumb::import {
namespace {

constexpr size_t kMostFrames = 1024;

}  // namespace

std::optional<int64_t> Stacks::idOf(const PlainValue* frames) {
  if (!frames || !frames->isContainer()) return std::nullopt;
  const auto [known, isNew] = m_byList.try_emplace(PlainDocument::identity(*frames));
  if (!isNew) return known->second;
  std::vector<StackFrame> found;
  for (const PlainValue& item : m_document.items(*frames)) {
    if (item.kind != PlainKind::Dict || found.size() == kMostFrames) continue;
    found.push_back({m_document.text(item, "name"), m_document.text(item, "filename"),
                     m_document.integer(item, "line").value_or(0)});
  }
  if (found.empty()) return std::nullopt;
  std::string content;
  for (const StackFrame& frame : found) {
    content.append(frame.function).append(1, '\0').append(frame.file).append(1, '\0');
    content.append(std::to_string(frame.line)).append(1, '\0');
  }
  const auto [same, isNewContent] = m_byContent.try_emplace(std::move(content), 0);
  if (isNewContent) {
    same->second = insertStack(m_file, found);
    m_names.emplace(same->second, placeOfStack(found));
  }
  m_byList[PlainDocument::identity(*frames)] = same->second;
  return same->second;
}

std::string Stacks::nameOf(int64_t stack) const {
  const auto found = m_names.find(stack);
  return found == m_names.end() ? std::string() : found->second;
}

}  // namespace plumb::import
