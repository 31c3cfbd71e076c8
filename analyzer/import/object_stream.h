// SPDX-License-Identifier: Apache-2.0
// The JSON objects of a source one after the other, with blanks, commas and brackets between them. An object that is
// not closed before the next line begins with '{' is damaged and costs only itself; so is what stands between objects
// and is none, up to the next line that begins with '{'.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "analyzer/import/importer.h"

namespace plumb::import {

struct ObjectStreamEnd {
  bool isCut = false;        // the last object is not complete
  uint64_t damaged = 0;      // objects without an end, the last one of a cut source included, or without a beginning
  uint64_t firstDamage = 0;  // its offset
  uint64_t bytes = 0;
};

// take(object, offset): the text from '{' to its '}'; false when it cannot be read, and counts as damage of its own.
[[nodiscard]] ObjectStreamEnd readObjects(SourceContext& context,
                                          const std::function<bool(std::string_view, uint64_t)>& take);

}  // namespace plumb::import
