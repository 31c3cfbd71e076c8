// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/out_of_memory.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

namespace plumb {
namespace {

constexpr std::string_view kPrefix = "out of memory: ";

// import/memory_snapshot.cpp writes the device into the sentence.
std::optional<DeviceId> deviceIn(std::string_view what, ProcessId process, const Trace& trace) {
  constexpr std::string_view kBefore = " were free on device ";
  const size_t at = what.find(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  int64_t ordinal = -1;
  what.remove_prefix(at + kBefore.size());
  if (std::from_chars(what.data(), what.data() + what.size(), ordinal).ec != std::errc()) return std::nullopt;
  for (const Device& device : trace.devices()) {
    if (device.process == process && device.ordinal == ordinal) return device.id;
  }
  return std::nullopt;
}

Status findInHistory(Trace& trace, std::vector<OutOfMemory>& found) {
  auto rows = trace.query(
      "SELECT r.process_id, r.start_ns, n.text FROM main.range r JOIN main.string n ON n.id = r.name_id"
      " WHERE r.domain_id = (SELECT id FROM main.string WHERE text = 'PyTorch memory') AND r.kind = 'mark'"
      " AND EXISTS (SELECT 1 FROM main.string WHERE text = 'PyTorch memory')"  // else no range is looked at
      " AND n.text LIKE 'out of memory: %' ORDER BY r.start_ns, r.id");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) {
    const auto process = rows.value().id<ProcessId>(0);
    const std::string_view what = rows.value().text(2).substr(kPrefix.size());
    found.push_back({process, rows.value().time(1), std::string(what), deviceIn(what, process, trace), {}});
  }
  return rows.value().status();
}

// The call does not tell its device: it is known only of a process with one.
std::optional<DeviceId> onlyDevice(ProcessId process, const Trace& trace) {
  std::optional<DeviceId> only;
  for (const Device& device : trace.devices()) {
    if (device.process != process) continue;
    if (only) return std::nullopt;
    only = device.id;
  }
  return only;
}

// Host memory that is pinned (cudaMallocHost …) fails with the same error, but is none of the device's.
Status findFailedCalls(Trace& trace, std::vector<OutOfMemory>& found) {
  auto rows = trace.query(
      "SELECT a.process_id, a.thread_id, a.start_ns, a.duration_ns, n.text, a.id FROM main.api_call a"
      " JOIN main.string n ON n.id = a.name_id"
      " WHERE a.result = 2"  // cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory
      " AND (n.text GLOB 'cudaMalloc*' OR n.text GLOB 'cuMemAlloc*' OR n.text GLOB 'cuMemCreate*'"
      " OR n.text GLOB 'hipMalloc*') AND n.text NOT GLOB '*Host*' ORDER BY a.process_id, a.thread_id, a.start_ns");
  if (!rows.ok()) return rows.error();
  struct Outer {
    ProcessId process;
    ThreadId thread;
    TimePoint end;
  };
  std::optional<Outer> outer;  // of the runtime, around the driver's that fails with it
  while (rows.value().next()) {
    Statement& row = rows.value();
    const auto process = row.id<ProcessId>(0);
    const auto thread = row.id<ThreadId>(1);
    if (!isUsableTime(row.integer(2), row.integer(3))) continue;
    const Interval call = intervalOf(row.integer(2), row.integer(3));
    if (outer && outer->process == process && outer->thread == thread && call.start < outer->end) continue;
    outer = Outer{process, thread, call.end};
    found.push_back({process, call.end, std::string(row.text(4)) + " failed (error 2)", onlyDevice(process, trace),
                     row.integer(5)});
  }
  return rows.value().status();
}

}  // namespace

Result<std::vector<OutOfMemory>> findOutOfMemory(Trace& trace) {
  std::vector<OutOfMemory> found;
  if (const Status status = findInHistory(trace, found); !status.ok()) return status.error();
  if (const Status status = findFailedCalls(trace, found); !status.ok()) return status.error();
  std::ranges::stable_sort(found, {}, &OutOfMemory::time);
  return found;
}

bool isOf(const OutOfMemory& moment, const DeviceMemory& memory) {
  return memory.process == moment.process && (!moment.device || !memory.device || memory.device == moment.device);
}

std::vector<int64_t> liveAt(const OutOfMemory& moment, const std::vector<DeviceMemory>& devices) {
  std::vector<int64_t> live;
  for (const DeviceMemory& memory : devices) {
    if (!isOf(moment, memory)) continue;
    const auto after = std::ranges::upper_bound(memory.points, moment.time, {}, &MemoryPoint::time);
    if (after != memory.points.begin()) live.push_back(std::prev(after)->totalBytes);
  }
  return live;
}

}  // namespace plumb
