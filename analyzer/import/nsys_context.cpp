// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys_context.h"

#include <fmt/format.h>

#include "analyzer/import/tally.h"
#include "analyzer/import/wording.h"

namespace plumb::import {
namespace {

struct Wording {
  bool isStored;
  const char* severity;
  const char* code;
  const char* message;  // of worded()
};

constexpr std::array<Wording, static_cast<size_t>(NsysReason::Count)> kWordings = {{
    {false, "error", "no_time", "{0} [event|events] of {1} [has|have] no usable time and [is|are] left out."},
    {false, "error", "bad_duration",
     "{0} host [event|events] of {1} [has|have] a negative or unreadable duration and [is|are] left out."},
    {false, "info", "profiler_notice",
     "{0} [row|rows] of {1} [only says|only say] that Nsight Systems began or ended to record something; [it is|they "
     "are] no [call|calls]."},
    {false, "info", "graph_covered",
     "{0} graph [launch|launches] of {1} [is|are] not stored as a whole, because the work in [it|them] was recorded "
     "singly."},
    {false, "warning", "free_without_allocation",
     "{0} memory [block|blocks] of {1} [was|were] freed that the export does not say [was|were] allocated."},
    {false, "warning", "not_understood", "{0} [row|rows] of {1} [holds|hold] a value that this program does not know."},
    {true, "warning", "bad_time",
     "{0} GPU [event|events] of {1} [has|have] a negative or unreadable duration: [it is|they are] stored without a "
     "usable time."},
    {true, "warning", "allocation_replaced",
     "{0} memory [block|blocks] of {1} [was|were] allocated where another one was still live; the older one counts as "
     "freed then."},
    {true, "warning", "bad_payload",
     "{0} NVTX [payload|payloads] of {1} cannot be decoded and [is|are] left out; the ranges are here."},
    {true, "warning", "never_ended", "{0} [range|ranges] of {1} [begins|begin] and [does|do] not end."},
    {true, "warning", "text_missing",
     "{0} [text|texts] that rows of {1} name [is|are] not in it; [it is|they are] stored as '?'."},
    {true, "warning", "bad_size",
     "{0} [copy|copies], [set|sets] [or|and] [allocation|allocations] of {1} [has|have] a size that cannot be: [it "
     "is|they are] stored with 0 bytes."},
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
                    worded(kWordings[i].message, m_counts[i], source));
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
