// SPDX-License-Identifier: Apache-2.0
// What lies behind the damage of a flight recorder's JSON dump.
#pragma once
#include <cstdint>
#include <string>

#include "analyzer/import/plain_document.h"

namespace plumb::import {

struct DumpDamage {
  uint64_t count = 0, first = 0;  // places of damage, the offset of the first
};

// Adds the entries and the members about process groups that can be read behind the place where reading `text` into the
// document broke off. When there are any, the document has no problem any more; the damage is returned instead.
[[nodiscard]] DumpDamage salvageDump(PlainDocument& document, const std::string& text);

}  // namespace plumb::import
