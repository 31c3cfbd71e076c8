// SPDX-License-Identifier: Apache-2.0
// Call stacks as rows of stack and stack_frame.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "analyzer/import/trace_file.h"

namespace plumb::import {

struct StackFrame {
  std::string_view function, file;
  int64_t line = 0;  // 0: not known
};

// What people call the place (tables.sql, stack): of the user's code, if any is in it.
[[nodiscard]] std::string placeOfStack(std::span<const StackFrame> frames);
// frames: one or more, innermost first. Gives the stack's id.
[[nodiscard]] int64_t insertStack(TraceFile& file, std::span<const StackFrame> frames);

}  // namespace plumb::import
