// SPDX-License-Identifier: Apache-2.0
// What of a source file was not stored as it was, by reason: one diagnostic per reason, with the count and the place of
// the first.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/import/trace_file.h"

namespace plumb::import {

enum class Reason : uint8_t {
  // Not stored at all:
  DamagedEvent,
  NoTime,
  BadDuration,
  EndWithoutBegin,
  FlowEvent,
  MetadataEvent,
  OtherPhase,
  NoValue,
  FlowOneEnd,
  RepeatedCall,
  // Stored, but not as it was:
  BadGpuTime,
  NoGpuDuration,
  NoGpuName,
  NoPlace,
  NoDuration,
  NoName,
  NotFinite,
  NeverEnded,
  FreeOfEarlierMemory,
  FreeMissing,
  NoAddress,
  CommunicationByName,
  BadCollective,
  UnknownDatatype,
  BadSize,
  TooDeep,
  ZeroCharacter,
  LoneSurrogate,
  ReusedCorrelation,
  Count,
};

class Tally {
 public:
  void count(Reason reason, uint64_t offset, uint64_t times = 1);
  [[nodiscard]] uint64_t of(Reason reason) const { return m_entries[static_cast<size_t>(reason)].count; }
  // Events that are in no table.
  [[nodiscard]] uint64_t notStored() const;

  void write(TraceFile& file, std::optional<int64_t> process, const std::string& source) const;

 private:
  struct Entry {
    uint64_t count = 0, firstOffset = 0;
  };
  std::array<Entry, static_cast<size_t>(Reason::Count)> m_entries{};
};

// A diagnostic of lane 'import'.
void writeDiagnostic(TraceFile& file, std::optional<int64_t> process, std::string_view severity, std::string_view code,
                     uint64_t count, std::string_view message);

}  // namespace plumb::import
