// SPDX-License-Identifier: Apache-2.0
// What of a source file is not stored as it was, by reason: one diagnostic per reason, with the count and the place of
// the first. Each importer has its own reasons.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/import/importer.h"

namespace plumb::import {

struct LossReason {
  bool isStored;  // the event is in the file, but not as it was
  bool isDamage;
  const char* severity;
  const char* code;
  const char* message;  // of worded()
};

// Of texts in JSON.
inline constexpr LossReason kUnusableCharacters = {
    true, false, "warning", "unusable_character",
    "{0} [character|characters] of {1} [is|are] none (zero bytes, halves of surrogate pairs, bytes that are not "
    "UTF-8): [it becomes|they become] '?'; [it is|the first] at byte {2}."};

class Losses {
 public:
  // `reason` lives as long as the program; it is known by its address.
  void count(const LossReason& reason, uint64_t place, uint64_t times = 1);
  [[nodiscard]] uint64_t of(const LossReason& reason) const;
  // Writes the diagnostics and adds the numbers to the result.
  void write(TraceFile& file, std::optional<int64_t> process, const std::string& source, SourceResult& result) const;

 private:
  struct Entry {
    const LossReason* reason;
    uint64_t count, firstPlace;
  };
  std::vector<Entry> m_entries;
};

// The source is not complete: an error in the diagnostics and a warning to the user. `what` is a clause with the place.
void noteCut(SourceContext& context, std::optional<int64_t> process, const std::string& what, SourceResult& result);

// The user named a rank for a source that holds several processes and says which rank each is.
void noteRankNotUsed(SourceContext& context, SourceResult& result);

// The whole source, decompressed, as long as it is not more than `most` bytes, and not more than its size on the disk
// explains; the error is a sentence.
[[nodiscard]] Result<std::string> readWhole(SourceContext& context, uint64_t most);

}  // namespace plumb::import
