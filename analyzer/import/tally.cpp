// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/tally.h"

#include <algorithm>

#include "analyzer/import/wording.h"

namespace plumb::import {
namespace {

struct Wording {
  bool isStored;
  const char* severity;
  const char* code;
  const char* message;  // of worded()
};

constexpr std::array<Wording, static_cast<size_t>(Reason::Count)> kWordings = {{
    {false, "error", "damaged_event",
     "{0} [event|events] of {1} [is|are] damaged and left out; [it is|the first] at byte {2} of its JSON."},
    {false, "error", "no_time",
     "{0} [event|events] of {1} [has|have] no usable time and [is|are] left out; [it is|the first] at byte {2} of its "
     "JSON."},
    {false, "error", "bad_duration",
     "{0} host [event|events] of {1} [has|have] a negative or unreadable duration and [is|are] left out; [it is|the "
     "first] at byte {2} of its JSON."},
    {false, "warning", "end_without_begin",
     "{0} range [end|ends] of {1} [has|have] no beginning and [is|are] left out; [it is|the first] at byte {2} of its "
     "JSON."},
    {false, "info", "flow_event",
     "{0} [flow event|flow events] (arrows between launches and their work) of {1} [is|are] not stored: those are "
     "joined by correlation ids."},
    {false, "info", "metadata_event",
     "{0} metadata [event|events] of {1} [is|are] not events in time: names of processes and threads are used, sort "
     "orders are not."},
    {false, "warning", "other_phase",
     "{0} [event|events] of {1} [is|are] of kinds that the trace format has no table for, and [is|are] left out; [it "
     "is|the first] at byte {2} of its JSON."},
    {false, "warning", "no_value",
     "{0} counter [event|events] of {1} [holds|hold] no number and [is|are] left out; [it is|the first] at byte {2} of "
     "its JSON."},
    {false, "info", "flow_one_end",
     "{0} [flow event|flow events] (arrows) of {1} [has|have] only one end and [is|are] left out; [it is|the first] at "
     "byte {2} of its JSON."},
    {false, "warning", "duplicate_event",
     "{0} [operator|operators] [or|and] Python [call|calls] of {1} came twice, equal in everything; [it is|they are] "
     "stored once."},
    {true, "warning", "bad_time",
     "{0} GPU [event|events] of {1} [has|have] a negative or unreadable duration: [it is|they are] stored without a "
     "usable time; [it is|the first] at byte {2} of its JSON."},
    {true, "warning", "no_gpu_duration",
     "{0} GPU [event|events] of {1} [has|have] no duration: [it is|they are] stored without a usable time; [it is|the "
     "first] at byte {2} of its JSON."},
    {true, "warning", "no_gpu_name",
     "{0} GPU [event|events] of {1} [has|have] no name: [it is|they are] stored without one, so nothing tells compute "
     "from communication; [it is|the first] at byte {2} of its JSON."},
    {true, "warning", "no_place",
     "{0} GPU [event|events] of {1} [does|do] not name [its|their] device or [its|their] stream: [it is|they are] "
     "stored under the number -1; [it is|the first] at byte {2} of its JSON."},
    {true, "warning", "no_duration",
     "{0} host [event|events] of {1} [has|have] no duration: [it is|they are] stored with 0 ns; [it is|the first] at "
     "byte {2} of its JSON."},
    {true, "warning", "no_name",
     "{0} host [event|events] of {1} [has|have] no name: [it is|they are] stored without one; [it is|the first] at "
     "byte {2} of its JSON."},
    {true, "warning", "not_finite",
     "{0} [event|events] of {1} [holds|hold] arguments that are NaN or infinite, which are left out; [it is|the first] "
     "at byte {2} of its JSON."},
    {true, "warning", "never_ended",
     "{0} [range|ranges] of {1} [begins|begin] and [does|do] not end; [it|the last] begins at byte {2} of its JSON or "
     "before."},
    {true, "info", "free_of_earlier_memory",
     "{0} [piece|pieces] of memory that {1} sees freed [was|were] allocated before it begins: [it is|they are] stored "
     "as live since its beginning; [it is|the first is] freed at byte {2} of its JSON."},
    {true, "info", "free_missing",
     "{0} [time|times] {1} hands out an address again that it did not see freed: the earlier memory is stored as freed "
     "then; [it is|the first] at byte {2} of its JSON."},
    {true, "info", "no_address",
     "{0} allocation [event|events] of {1} [has|have] no address, so what was live when is not known: only [its size "
     "is|their sums are] stored, as counters (torch allocated bytes …)."},
    {true, "info", "communication_by_name",
     "{0} communication [kernel|kernels] of {1} [has|have] no record of [its|their] collective and [is|are] told by "
     "name; [it is|the first] at byte {2} of its JSON."},
    {true, "warning", "bad_collective",
     "{0} [collective|collectives] of {1} [holds|hold] sizes, counts or ranks that cannot be (negative, no whole "
     "number, too large): [it is|they are] stored without those; [it is|the first] at byte {2} of its JSON."},
    {true, "info", "unknown_datatype",
     "{0} [collective|collectives] of {1} [has|have] a data type whose size is not known, so how many bytes [it "
     "moves|they move] is not; [it is|the first] at byte {2} of its JSON."},
    {true, "warning", "bad_size",
     "{0} [copy|copies] [or|and] [set|sets] of {1} [has|have] a size that cannot be: [it is|they are] stored with 0 "
     "bytes; [it is|the first] at byte {2} of its JSON."},
    {true, "warning", "nested_too_deep",
     "{0} [event|events] of {1} [has|have] arguments that nest more than 100 deep, which are left out; [it is|the "
     "first] at byte {2} of its JSON."},
    {true, "warning", "zero_character",
     "{0} [event|events] of {1} [holds|hold] texts with zero characters (\\u0000), which become '?'; [it is|the first] "
     "at byte {2} of its JSON."},
    {true, "warning", "lone_surrogate",
     "{0} [event|events] of {1} [holds|hold] texts with halves of surrogate pairs (\\ud800 to \\udfff), which become "
     "'?'; [it is|the first] at byte {2} of its JSON."},
    {true, "info", "reused_correlation",
     "{0} [call|calls] of {1} [launches|launch] work under a correlation id that an earlier call of the process had, "
     "as "
     "its counter began anew: [it is|they are] stored, with [its|their] work, under ids beyond 32 bits."},
}};

}  // namespace

void writeDiagnostic(TraceFile& file, std::optional<int64_t> process, std::string_view severity, std::string_view code,
                     uint64_t count, std::string_view message) {
  file.rows().insert(schema::DiagnosticRow{.id = file.rows().nextId<schema::DiagnosticRow>(),
                                           .process_id = process,
                                           .start_ns = 0,
                                           .severity = severity,
                                           .lane = "import",
                                           .code = code,
                                           .count = static_cast<int64_t>(count),
                                           .message = message});
}

void Tally::count(Reason reason, uint64_t offset, uint64_t times) {
  Entry& entry = m_entries[static_cast<size_t>(reason)];
  if (entry.count == 0) entry.firstOffset = offset;
  entry.count += times;
}

uint64_t Tally::notStored() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < m_entries.size(); ++i) sum += kWordings[i].isStored ? 0 : m_entries[i].count;
  return sum;
}

void Tally::write(TraceFile& file, std::optional<int64_t> process, const std::string& source) const {
  for (size_t i = 0; i < m_entries.size(); ++i) {
    const Entry& entry = m_entries[i];
    if (entry.count == 0) continue;
    writeDiagnostic(file, process, kWordings[i].severity, kWordings[i].code, entry.count,
                    worded(kWordings[i].message, entry.count, source, entry.firstOffset));
  }
}

}  // namespace plumb::import
