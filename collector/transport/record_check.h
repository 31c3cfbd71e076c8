// SPDX-License-Identifier: Apache-2.0
// Is this a record? For readers who do not trust the writer.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "collector/api/records.h"

namespace plumb::transport {

// The smallest size of a record of this kind; 0: no such kind.
[[nodiscard]] uint32_t minimumRecordBytes(RecordKind kind) noexcept;

// The size of the record at the start of bytes, if there is a whole, well-formed one: at least its kind's size, a
// multiple of 8, inside bytes, with a known clock, and for a StringRecord a text that lies inside it. Otherwise 0.
// Records of unknown (newer) kinds are well-formed as long as their size is. bytes is 8-byte aligned.
[[nodiscard]] uint32_t wellFormedRecordBytes(std::span<const std::byte> bytes) noexcept;

// Calls visit(const RecordHeader&) for each record of a span that RingConsumer::drain returned.
template <class Visit>
void forEachRecord(std::span<const std::byte> records, Visit&& visit) {
  while (!records.empty()) {
    const auto* header = reinterpret_cast<const RecordHeader*>(records.data());
    visit(*header);
    records = records.subspan(header->size_bytes);
  }
}

// The record behind a header; the caller has looked at header.kind.
template <class Record>
const Record& recordAs(const RecordHeader& header) noexcept {
  return reinterpret_cast<const Record&>(header);
}

// The text of a StringRecord, not terminated.
inline std::string_view textOf(const StringRecord& record) noexcept {
  return {reinterpret_cast<const char*>(&record + 1), record.length_bytes};
}

}  // namespace plumb::transport
