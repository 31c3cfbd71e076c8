// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "analyzer/import/flight_recorder.h"
#include "analyzer/import/losses.h"
#include "analyzer/import/plain_json.h"

namespace plumb::import {

constexpr uint64_t kMostJsonBytes = uint64_t{256} << 20;

bool looksLikeFlightRecorderJson(std::string_view head, const std::string&) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  const auto holds = [&](std::string_view mark) { return head.find(mark) != std::string_view::npos; };
  if (holds("\"traceEvents\"")) return false;
  if (head[first] != '{') return holds("\"profiling_name\"") && holds("\"record_id\"");  // its first bytes are damaged
  return holds("\"pg_config\"") || holds("\"collective_seq_id\"") || holds("\"pg_status\"");
}

Result<SourceResult> readFlightRecorderJson(SourceContext& context) {
  auto text = readWhole(context, kMostJsonBytes);
  if (!text.ok()) return text.error();
  PlainDocument document = readPlainJson(text.value());
  const DumpDamage damage = document.problemAt() ? salvageDump(document, text.value()) : DumpDamage{};
  if (context.source.problem()) document.setProblem(*context.source.problem());
  if (!isFlightRecorderDump(document)) {
    return Error{fmt::format("{} holds no entry of a flight recorder that can be read{}{}.", context.path,
                             document.problem() ? ": " : "", document.problem().value_or(""))};
  }
  return readFlightRecorderDump(context, document, damage);
}

}  // namespace plumb::import
