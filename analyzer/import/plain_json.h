// SPDX-License-Identifier: Apache-2.0
// JSON texts of moderate size as plain documents, for formats that exist as pickle and as JSON.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/import/plain_document.h"

namespace plumb::import {

// Never fails: a text that ends early or is damaged gives what was read before, with the document's problem() set. What
// stands for no character in its texts (zero bytes, halves of surrogate pairs, bytes that are not UTF-8) becomes '?'
// and is counted by the document.
[[nodiscard]] PlainDocument readPlainJson(const std::string& text);

// One more value into a document; `offset` is where the text lies in the source. No value when it is not one whole
// value.
[[nodiscard]] std::optional<PlainValue> addPlainJson(PlainDocument& document, const std::string& text, uint64_t offset);

}  // namespace plumb::import
