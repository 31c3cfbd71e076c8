// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/pickle_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyzer/import/flight_recorder.h"
#include "analyzer/import/losses.h"
#include "analyzer/import/memory_snapshot.h"
#include "analyzer/import/pickle.h"

namespace plumb::import {

bool looksLikePickledTrace(std::string_view head, const std::string&) { return looksLikePickle(head); }

Result<SourceResult> readPickledTrace(SourceContext& context) {
  auto bytes = readWhole(context, kMostPickleBytes);
  if (!bytes.ok()) return bytes.error();
  const auto problem = context.source.problem();
  // A packed file of few bytes may not become values without end.
  constexpr uint64_t kAlways = uint64_t{16} << 20, kValuesPerByte = 4;
  const uint64_t most = std::min(kMostPickleValues, std::max(kAlways, context.source.size() * kValuesPerByte));
  auto document = readPickle(std::move(bytes).value(), most, AtRefusal::Break);
  if (!document.ok()) return Error{fmt::format("{} is not read: {}.", context.path, document.error().message)};
  if (problem) document.value().setProblem(*problem);
  if (isMemorySnapshot(document.value())) return readMemorySnapshot(context, document.value());
  if (isFlightRecorderDump(document.value())) {
    auto dump = readFlightRecorderDump(context, document.value());
    if (dump.ok()) dump.value().kind = kFlightRecorder;  // as a dump in JSON
    return dump;
  }
  const auto& broken = document.value().problem();
  if (broken) return Error{fmt::format("{} holds nothing that can be read: {}.", context.path, *broken)};
  return Error{fmt::format(
      "{} is a Python pickle, but neither a memory snapshot nor a flight-recorder dump of PyTorch.", context.path)};
}

}  // namespace plumb::import
