// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/tally.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumb::import {
namespace {

struct Wording {
  bool isStored;
  const char* severity;
  const char* code;
  const char* message;  // {0}: count, {1}: file, {2}: offset of the first
};

constexpr std::array<Wording, static_cast<size_t>(Reason::Count)> kWordings = {{
    {false, "error", "damaged_event", "{0} events of {1} are damaged and left out; the first at byte {2} of its JSON."},
    {false, "error", "no_time",
     "{0} events of {1} have no usable time and are left out; the first at byte {2} of its JSON."},
    {false, "error", "bad_duration",
     "{0} host events of {1} have a negative or unreadable duration and are left out; the first at byte {2} of its "
     "JSON."},
    {false, "warning", "end_without_begin",
     "{0} range ends of {1} have no beginning and are left out; the first at byte {2} of its JSON."},
    {false, "info", "flow_event",
     "{0} flow events (arrows between launches and their work) of {1} are not stored: those are joined by correlation "
     "ids."},
    {false, "info", "metadata_event",
     "{0} metadata events of {1} are not events in time: names of processes and threads are used, sort orders are "
     "not."},
    {false, "warning", "other_phase",
     "{0} events of {1} are of kinds that the trace format has no table for, and are left out; the first at byte {2} "
     "of its JSON."},
    {false, "warning", "no_value",
     "{0} counter events of {1} hold no number and are left out; the first at byte {2} of its JSON."},
    {false, "info", "flow_one_end",
     "{0} flow events (arrows) of {1} have only one end and are left out; the first at byte {2} of its JSON."},
    {false, "warning", "duplicate_event",
     "{0} operators and Python calls of {1} came twice, equal in everything; they are stored once."},
    {true, "warning", "bad_time",
     "{0} GPU events of {1} have a negative or unreadable duration: they are stored without a usable time; the first "
     "at byte {2} of its JSON."},
    {true, "warning", "no_gpu_duration",
     "{0} GPU events of {1} have no duration: they are stored without a usable time; the first at byte {2} of its "
     "JSON."},
    {true, "warning", "no_gpu_name",
     "{0} GPU events of {1} have no name: they are stored without one, so nothing tells compute from communication; "
     "the "
     "first at byte {2} of its JSON."},
    {true, "warning", "no_place",
     "{0} GPU events of {1} do not name their device or their stream: they are stored under the number -1; the first "
     "at "
     "byte {2} of its JSON."},
    {true, "warning", "no_duration",
     "{0} host events of {1} have no duration: they are stored with 0 ns; the first at byte {2} of its JSON."},
    {true, "warning", "no_name",
     "{0} host events of {1} have no name: they are stored without one; the first at byte {2} of its JSON."},
    {true, "warning", "not_finite",
     "{0} events of {1} hold arguments that are NaN or infinite, which are left out; the first at byte {2} of its "
     "JSON."},
    {true, "warning", "never_ended",
     "{0} ranges of {1} begin and do not end; the last begins at byte {2} of its JSON or before."},
    {true, "info", "free_of_earlier_memory",
     "{0} pieces of memory that {1} sees freed were allocated before it begins: they are stored as live since its "
     "beginning; the first is freed at byte {2} of its JSON."},
    {true, "info", "free_missing",
     "{0} times {1} hands out an address again that it did not see freed: the earlier memory is stored as freed then; "
     "the "
     "first at byte {2} of its JSON."},
    {true, "info", "no_address",
     "{0} allocation events of {1} have no address, so what was live when is not known: only their sums are stored, as "
     "counters (torch allocated bytes …)."},
    {true, "info", "communication_by_name",
     "{0} communication kernels of {1} have no record of their collective and are told by name; the first at byte {2} "
     "of its JSON."},
    {true, "warning", "bad_collective",
     "{0} collectives of {1} hold sizes, counts or ranks that cannot be (negative, no whole number, too large): they "
     "are stored without those; the first at byte {2} of its JSON."},
    {true, "info", "unknown_datatype",
     "{0} collectives of {1} have a data type whose size is not known, so how many bytes they move is not; the first "
     "at "
     "byte {2} of its JSON."},
    {true, "warning", "bad_size",
     "{0} copies and sets of {1} have a size that cannot be: they are stored with 0 bytes; the first at byte {2} of "
     "its "
     "JSON."},
    {true, "warning", "nested_too_deep",
     "{0} events of {1} have arguments that nest more than 100 deep, which are left out; the first at byte {2} of its "
     "JSON."},
    {true, "warning", "zero_character",
     "{0} events of {1} hold texts with zero characters (\\u0000), which become '?'; the first at byte {2} of its "
     "JSON."},
    {true, "warning", "lone_surrogate",
     "{0} events of {1} hold texts with halves of surrogate pairs (\\ud800 to \\udfff), which become '?'; the first "
     "at byte {2} of its JSON."},
    {true, "info", "reused_correlation",
     "{0} calls of {1} launch work under a correlation id that an earlier call of their process had, as its counter "
     "began anew: they and their work are stored under ids beyond 32 bits."},
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
                    fmt::format(fmt::runtime(kWordings[i].message), entry.count, source, entry.firstOffset));
  }
}

}  // namespace plumb::import
