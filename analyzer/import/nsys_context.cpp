// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys_context.h"

#include <fmt/format.h>

#include "analyzer/import/tally.h"

namespace plumb::import {
namespace {

struct Wording {
  bool isStored;
  const char* severity;
  const char* code;
  const char* message;  // {0}: count, {1}: file
};

constexpr std::array<Wording, static_cast<size_t>(NsysReason::Count)> kWordings = {{
    {false, "error", "no_time", "{0} events of {1} have no usable time and are left out."},
    {false, "error", "bad_duration", "{0} host events of {1} have a negative or unreadable duration and are left out."},
    {false, "info", "profiler_notice",
     "{0} rows of {1} only say that Nsight Systems began or ended to record something; they are no calls."},
    {false, "info", "graph_covered",
     "{0} graph launches of {1} are not stored as a whole, because the work in them was recorded singly."},
    {false, "warning", "free_without_allocation",
     "{0} memory blocks of {1} were freed that the export does not say were allocated."},
    {false, "warning", "not_understood", "{0} rows of {1} hold a value that this program does not know."},
    {true, "warning", "bad_time",
     "{0} GPU events of {1} have a negative or unreadable duration: they are stored without a usable time."},
    {true, "warning", "allocation_replaced",
     "{0} memory blocks of {1} were allocated where another one was still live; the older one counts as freed then."},
    {true, "warning", "bad_payload",
     "{0} NVTX payloads of {1} cannot be decoded and are left out; the ranges are here."},
    {true, "warning", "never_ended", "{0} ranges of {1} begin and do not end."},
    {true, "warning", "text_missing", "{0} texts that rows of {1} name are not in it; they are stored as '?'."},
    {true, "warning", "bad_size",
     "{0} copies, sets and allocations of {1} have a size that cannot be: they are stored with 0 bytes."},
}};

constexpr int64_t kLatest = int64_t{1} << 61;  // 2043; anything beyond is damage, and would overflow sums
constexpr int64_t kLongest = int64_t{1} << 60;
constexpr int64_t kMostBytes = int64_t{1} << 50;

}  // namespace

uint64_t NsysTally::notStored() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < m_counts.size(); ++i) sum += kWordings[i].isStored ? 0 : m_counts[i];
  return sum;
}

void NsysTally::write(TraceFile& file, std::optional<int64_t> process, const std::string& source) const {
  for (size_t i = 0; i < m_counts.size(); ++i) {
    if (m_counts[i] == 0) continue;
    writeDiagnostic(file, process, kWordings[i].severity, kWordings[i].code, m_counts[i],
                    fmt::format(fmt::runtime(kWordings[i].message), m_counts[i], source));
  }
}

void NsysContext::forEachEvent(std::string_view table, const std::vector<const char*>& columns,
                               const std::function<void(const NsysRow&)>& take, const char* order) {
  constexpr uint64_t kProgressEvery = 8192;
  uint64_t pending = 0;
  source.forEach(
      table, columns,
      [&](const NsysRow& row) {
        ++events;
        take(row);
        if (++pending < kProgressEvery) return;
        if (advance) advance(pending);
        pending = 0;
      },
      order);
  if (advance && pending > 0) advance(pending);
}

std::optional<NsysTimes> NsysContext::times(std::optional<int64_t> start, std::optional<int64_t> end) {
  if (!start || *start > kLatest || *start < -kLatest) {
    tally.count(NsysReason::NoTime);
    return std::nullopt;
  }
  if (!end || *end > kLatest || *end < *start || *end - *start > kLongest) return NsysTimes{*start, 0, false};
  return NsysTimes{*start, *end - *start, true};
}

int64_t NsysContext::size(const NsysRow& row, int column) {
  if (row.isNull(column)) return 0;
  const auto bytes = row.integer(column);
  if (bytes && *bytes >= 0 && *bytes <= kMostBytes) return *bytes;
  tally.count(NsysReason::BadSize);
  return 0;
}

}  // namespace plumb::import
