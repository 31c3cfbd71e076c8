// SPDX-License-Identifier: Apache-2.0
// What every importer offers: it recognizes its files by their first bytes and writes their rows. The importers are a
// table in import.cpp; a new one adds its line there.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/import/byte_source.h"
#include "analyzer/import/trace_file.h"
#include "collector/schema/result.h"

namespace plumb::import {

// One source file on its way into the trace.
struct SourceContext {
  TraceFile& file;
  ByteSource source;            // at its first byte, decompressed
  std::string path, name;       // name: without folders
  std::optional<int64_t> rank;  // as the user said
  // To be called now and then with the number of bytes of the file that are done.
  std::function<void(const ByteSource&)> progress;
  // The same for an importer that counts something other than bytes.
  std::function<void(uint64_t done, uint64_t all)> progressOf = {};
};

struct SourceResult {
  static constexpr int64_t kNoTime = std::numeric_limits<int64_t>::max();
  std::string_view kind;  // "": the importer's
  std::vector<int64_t> processes;
  std::optional<int64_t> rank, worldSize;
  std::vector<int64_t> ranks;         // of a source that holds several; rank has no value then
  int64_t originNs = 0;               // realtime of the moment that the rows call 0
  int64_t firstNs = kNoTime;          // realtime of the first event; kNoTime: it holds no times
  uint64_t events = 0;                // found, damaged ones included
  uint64_t notStored = 0;             // of those, counted in diagnostics instead
  uint64_t damaged = 0;               // of those
  std::vector<std::string> warnings;  // already in diagnostics
};

struct Importer {
  const char* kind;  // for comparing ranks: several files of one kind and rank are a mistake
  // head: up to 1 MiB of the decompressed data.
  bool (*recognizes)(std::string_view head, const std::string& path);
  Result<SourceResult> (*read)(SourceContext& context);
};

// The number behind "rank" in a file's name.
[[nodiscard]] std::optional<int64_t> rankInName(const std::string& name);

// What the name HOST_PID.TIME.pt.trace.json(.gz) says, which PyTorch's tensorboard_trace_handler gives a file.
struct NamedWorker {
  std::string host, pid;
};
[[nodiscard]] std::optional<NamedWorker> workerInName(const std::string& name);

}  // namespace plumb::import
