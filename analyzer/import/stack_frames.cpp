// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/stack_frames.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumb::import {
namespace {

// Frames that say how the memory was asked for, not who asked.
bool isUsersCode(const StackFrame& frame) {
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

std::string placeOf(const StackFrame& frame) {
  const size_t slash = frame.file.rfind('/');
  const std::string_view base = slash == std::string_view::npos ? frame.file : frame.file.substr(slash + 1);
  if (base.empty()) return std::string(frame.function);
  return fmt::format("{}:{} {}", base, frame.line, frame.function);
}

}  // namespace

// The innermost place of the user's code and who called it: many allocations share the innermost alone.
std::string placeOfStack(std::span<const StackFrame> frames) {
  constexpr int kMost = 3;
  std::string text;
  int count = 0;
  for (const StackFrame& frame : frames) {
    if (!isUsersCode(frame)) continue;
    text += (count == 0 ? "" : " < ") + placeOf(frame);
    if (++count == kMost) break;
  }
  return count == 0 ? placeOf(frames.front()) : text;
}

int64_t insertStack(TraceFile& file, std::span<const StackFrame> frames) {
  const int64_t id = file.rows().nextId<schema::StackRow>();
  file.rows().insert(schema::StackRow{.id = id, .name_id = file.textId(placeOfStack(frames))});
  int64_t depth = 0;
  for (const StackFrame& frame : frames) {
    file.rows().insert(schema::StackFrameRow{.stack_id = id,
                                             .depth = depth++,
                                             .function_id = file.textId(frame.function),
                                             .file_id = file.textId(frame.file),
                                             .line = frame.line});
  }
  return id;
}

}  // namespace plumb::import
