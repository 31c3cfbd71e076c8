// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/losses.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/import/tally.h"
#include "analyzer/import/wording.h"

namespace plumb::import {

void Losses::count(const LossReason& reason, uint64_t place, uint64_t times) {
  if (times == 0) return;
  const auto found =
      std::find_if(m_entries.begin(), m_entries.end(), [&](const Entry& entry) { return entry.reason == &reason; });
  if (found != m_entries.end()) {
    found->count += times;
  } else {
    m_entries.push_back({&reason, times, place});
  }
}

uint64_t Losses::of(const LossReason& reason) const {
  const auto found =
      std::find_if(m_entries.begin(), m_entries.end(), [&](const Entry& entry) { return entry.reason == &reason; });
  return found == m_entries.end() ? 0 : found->count;
}

void Losses::write(TraceFile& file, std::optional<int64_t> process, const std::string& source,
                   SourceResult& result) const {
  for (const Entry& entry : m_entries) {
    const LossReason& reason = *entry.reason;
    const std::string message = worded(reason.message, entry.count, source, entry.firstPlace);
    writeDiagnostic(file, process, reason.severity, reason.code, entry.count, message);
    if (!reason.isStored) result.notStored += entry.count;
    if (reason.isDamage) result.damaged += entry.count;
  }
}

void noteCut(SourceContext& context, std::optional<int64_t> process, const std::string& what, SourceResult& result) {
  const std::string message =
      fmt::format("{} is not complete: {}; everything before that is here.", context.name, what);
  writeDiagnostic(context.file, process, "error", "cut", 1, message);
  result.warnings.push_back(message);
}

void noteRankNotUsed(SourceContext& context, SourceResult& result) {
  const std::string message =
      fmt::format("{} holds {} processes and says which rank each is: --rank is not used for it.", context.name,
                  result.processes.size());
  writeDiagnostic(context.file, result.processes.front(), "warning", "rank_not_used", 1, message);
  result.warnings.push_back(message);
}

Result<std::string> readWhole(SourceContext& context, uint64_t most) {
  // Text and pickles pack to a tenth, seldom to a thirtieth; what unpacks to far more is there to fill memory.
  constexpr uint64_t kMostUnpacked = 64, kAlways = uint64_t{32} << 20;
  most = std::min(most, std::max(kAlways, context.source.size() * kMostUnpacked));
  std::string bytes;
  while (context.source.append(bytes)) {
    if (context.progress) context.progress(context.source);
    if (bytes.size() > most) {
      return Error{
          fmt::format("{} holds more than {} bytes when decompressed, which is more than is read of such a file.",
                      context.path, most)};
    }
  }
  return bytes;
}

}  // namespace plumb::import
