// SPDX-License-Identifier: Apache-2.0
// Python pickles of plain data, protocols 0 to 5. This is no unpickler: it has no way to name, import, build or call
// anything, so a file from a stranger can do nothing. Nothing behind the first opcode that would is read.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/import/plain_document.h"
#include "collector/schema/result.h"

namespace plumb::import {

// More data than this is not read (a snapshot of a million events has a few hundred megabytes).
inline constexpr uint64_t kMostPickleBytes = uint64_t{4} << 30;
// Nor do more values than this come out of it; 16 bytes each, and a container counts as several.
inline constexpr uint64_t kMostPickleValues = uint64_t{128} << 20;

// Also where one of the first two bytes, which say that it is a pickle, is damaged.
[[nodiscard]] bool looksLikePickle(std::string_view head);

// At an opcode that would construct or call something, which is not done in any case: fail, or stop there as at damage.
enum class AtRefusal : uint8_t { Fail, Break };

// An error (a clause without a full stop) only for what is refused. Data that ends early or is damaged gives what was
// read before, with the document's problem() set and the containers at the break marked as cut.
[[nodiscard]] Result<PlainDocument> readPickle(std::string bytes, uint64_t mostValues = kMostPickleValues,
                                               AtRefusal atRefusal = AtRefusal::Fail);

}  // namespace plumb::import
