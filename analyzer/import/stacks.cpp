// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace plumb::import {
namespace {

constexpr size_t kMostFrames = 1024;

struct Frame {
  std::string_view function, file;
  int64_t line = 0;
};

// Frames that say how the memory was asked for, not who asked.
bool isUsersCode(const Frame& frame) {
  static constexpr std::string_view kNotTheirs[] = {
      "/torch/", "site-packages/torch", "dist-packages/torch", "<frozen ", "contextlib.py", "functools.py", "??",
      "<string>"};
  static constexpr std::string_view kPython[] = {".py", ">"};
  const bool isPython = std::any_of(std::begin(kPython), std::end(kPython),
                                    [&](std::string_view end) { return frame.file.ends_with(end); });
  return isPython && std::none_of(std::begin(kNotTheirs), std::end(kNotTheirs), [&](std::string_view mark) {
           return frame.file.find(mark) != std::string_view::npos;
         });
}

std::string placeOf(const Frame& frame) {
  const size_t slash = frame.file.rfind('/');
  const std::string_view base = slash == std::string_view::npos ? frame.file : frame.file.substr(slash + 1);
  if (base.empty()) return std::string(frame.function);
  return fmt::format("{}:{} {}", base, frame.line, frame.function);
}

// The innermost place of the user's code and who called it: many allocations share the innermost alone.
std::string placesOf(const std::vector<Frame>& frames) {
  constexpr int kMost = 3;
  std::string text;
  int count = 0;
  for (const Frame& frame : frames) {
    if (!isUsersCode(frame)) continue;
    text += (count == 0 ? "" : " < ") + placeOf(frame);
    if (++count == kMost) break;
  }
  return count == 0 ? placeOf(frames.front()) : text;
}

}  // namespace

std::optional<int64_t> Stacks::idOf(const PlainValue* frames) {
  if (!frames || !frames->isContainer()) return std::nullopt;
  const auto [known, isNew] = m_byList.try_emplace(PlainDocument::identity(*frames));
  if (!isNew) return known->second;
  std::vector<Frame> found;
  for (const PlainValue& item : m_document.items(*frames)) {
    if (item.kind != PlainKind::Dict || found.size() == kMostFrames) continue;
    found.push_back({m_document.text(item, "name"), m_document.text(item, "filename"),
                     m_document.integer(item, "line").value_or(0)});
  }
  if (found.empty()) return std::nullopt;
  std::string content;
  for (const Frame& frame : found) {
    content.append(frame.function).append(1, '\0').append(frame.file).append(1, '\0');
    content.append(std::to_string(frame.line)).append(1, '\0');
  }
  const auto [same, isNewContent] = m_byContent.try_emplace(std::move(content), 0);
  if (isNewContent) {
    same->second = m_file.rows().nextId<schema::StackRow>();
    const std::string name = placesOf(found);
    m_names.emplace(same->second, name);
    m_file.rows().insert(schema::StackRow{.id = same->second, .name_id = m_file.textId(name)});
    for (size_t i = 0; i < found.size(); ++i) {
      m_file.rows().insert(schema::StackFrameRow{.stack_id = same->second,
                                                 .depth = static_cast<int64_t>(i),
                                                 .function_id = m_file.textId(found[i].function),
                                                 .file_id = m_file.textId(found[i].file),
                                                 .line = found[i].line});
    }
  }
  m_byList[PlainDocument::identity(*frames)] = same->second;
  return same->second;
}

std::string Stacks::nameOf(int64_t stack) const {
  const auto found = m_names.find(stack);
  return found == m_names.end() ? std::string() : found->second;
}

}  // namespace plumb::import
