// SPDX-License-Identifier: Apache-2.0
// JSON texts of moderate size as plain documents, for formats that exist as pickle and as JSON.
#pragma once
#include <string>

#include "analyzer/import/plain_document.h"

namespace plumb::import {

// Never fails: a text that ends early or is damaged gives what was read before, with the document's problem() set.
[[nodiscard]] PlainDocument readPlainJson(const std::string& text);

}  // namespace plumb::import
