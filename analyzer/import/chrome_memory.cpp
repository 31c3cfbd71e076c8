// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_memory.h"

#include <fmt/format.h>

namespace plumb::import {
namespace {

constexpr int64_t kCpu = 0;                            // c10::DeviceType
constexpr int64_t kFirstOwnType = 1 << 20;             // above all of c10's
constexpr int64_t kSinceBefore = -(int64_t{1} << 61);  // stands for the time of the trace's first event

}  // namespace

ChromeMemory::Place& ChromeMemory::placeOf(int64_t process, int64_t type, int64_t device) {
  const auto [entry, isNew] = m_places.try_emplace({type, device});
  Place& place = entry->second;
  if (!isNew) return place;
  if (type == kCpu) place.space = "pageable";
  // An export of ours writes -1 where memory is of no device.
  if (type != kCpu && (type < kFirstOwnType || device >= 0)) place.device = m_registry.device(process, device);
  const std::string where = type == kCpu ? "CPU" : fmt::format("device {}", device);
  place.allocatedName = m_file.textId("torch allocated bytes, " + where);
  place.reservedName = m_file.textId("torch reserved bytes, " + where);
  place.changeName = m_file.textId("torch allocated bytes since the trace's start, " + where);
  return place;
}

void ChromeMemory::sample(int64_t process, int64_t start, int64_t name, int64_t value) {
  m_file.rows().insert(schema::CounterSampleRow{
      .process_id = process, .start_ns = start, .name_id = name, .value = static_cast<double>(value)});
}

void ChromeMemory::add(const ChromeEvent& event, int64_t process, int64_t start, uint64_t offset) {
  std::optional<int64_t> bytes, address, allocated, reserved, requested, stack;
  int64_t type = kCpu, device = 0;
  const bool isOurs = event.name.text == "[allocation]";
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    if (key == "Bytes") bytes = value.toInteger();
    if (key == "Addr") address = value.toInteger();
    if (key == "Device Type") type = value.toInteger().value_or(kCpu);
    if (key == "Device Id") device = value.toInteger().value_or(0);
    if (key == "Total Allocated") allocated = value.toInteger();
    if (key == "Total Reserved") reserved = value.toInteger();
    if (key == "Requested Bytes") requested = value.toInteger();
    if (key == "Call stack") stack = m_stacks.idOf(value);
  });
  constexpr int64_t kLargest = int64_t{1} << 50;
  if (!bytes || *bytes > kLargest || *bytes < -kLargest) return m_tally.count(Reason::NoValue, offset);
  if (isOurs) type = typeOfSpace(event.argument("Space").toText());
  Place& place = placeOf(process, type, device);
  if (isOurs) {
    place.space = event.argument("Space").toText();
    place.isFromPool = event.argument("From Pool").toInteger().value_or(0) != 0;
  }
  place.change += *bytes;
  if (isOurs || m_hasComputedTotals) {
    // No framework counted it.
  } else if (allocated) {
    sample(process, start, place.allocatedName, *allocated);
    if (!place.firstStart || start < *place.firstStart) {
      place.firstStart = start;
      place.liveBefore = *allocated - *bytes;
    }
  } else {
    sample(process, start, place.changeName, place.change);
  }
  if (reserved && place.lastReserved != reserved) {
    if (type != kCpu) sample(process, start, place.reservedName, *reserved);  // the CPU's allocator keeps nothing
    place.lastReserved = reserved;
  }
  if (!address) return m_tally.count(Reason::NoAddress, offset);
  if (*bytes == 0) return;
  const Key key{type << 8 ^ device, *address};
  if (*bytes < 0) return release(place, process, key, start, -*bytes, offset);
  const int64_t id = allocate(place, process, key, start, *bytes, offset);
  if (!requested && !stack) return;
  m_file.rows().insert(
      schema::AllocationDetailRow{.allocation_id = id, .requested_bytes = requested, .stack_id = stack});
}

void ChromeMemory::insertAllocation(const Place& place, int64_t process, int64_t id, int64_t start, int64_t address,
                                    int64_t bytes) {
  m_file.rows().insert(schema::AllocationRow{.id = id,
                                             .process_id = process,
                                             .device_id = place.device,
                                             .stream_id = std::nullopt,
                                             .start_ns = start,
                                             .address = address,
                                             .bytes = bytes,
                                             .space = place.space,
                                             .from_pool = place.device && place.isFromPool ? 1 : 0,
                                             .correlation = std::nullopt});
}

int64_t ChromeMemory::typeOfSpace(const std::string& space) {
  constexpr size_t kMostSpaces = 64;
  if (m_spaces.size() >= kMostSpaces && !m_spaces.contains(space)) return kFirstOwnType;
  return m_spaces.try_emplace(space, kFirstOwnType + 1 + static_cast<int64_t>(m_spaces.size())).first->second;
}

int64_t ChromeMemory::allocate(Place& place, int64_t process, const Key& key, int64_t start, int64_t bytes,
                               uint64_t offset) {
  const int64_t id = m_file.rows().nextId<schema::AllocationRow>();
  insertAllocation(place, process, id, start, key.address, bytes);
  const auto [entry, isNew] = m_live.try_emplace(key, id);
  if (isNew) return id;
  m_tally.count(Reason::FreeMissing, offset);
  // The end of the one before was not recorded; two cannot live at one address.
  m_file.rows().insert(
      schema::DeallocationRow{.allocation_id = entry->second, .start_ns = start, .correlation = std::nullopt});
  entry->second = id;
  return id;
}

void ChromeMemory::release(Place& place, int64_t process, const Key& key, int64_t start, int64_t bytes,
                           uint64_t offset) {
  int64_t id = 0;
  if (const auto live = m_live.find(key); live != m_live.end()) {
    id = live->second;
    m_live.erase(live);
  } else {
    m_tally.count(Reason::FreeOfEarlierMemory, offset);
    id = m_file.rows().nextId<schema::AllocationRow>();
    if (m_firstBefore == 0) m_firstBefore = id;
    insertAllocation(place, process, id, kSinceBefore, key.address, bytes);
    place.freedOfBefore += bytes;
  }
  m_file.rows().insert(schema::DeallocationRow{.allocation_id = id, .start_ns = start, .correlation = std::nullopt});
}

Status ChromeMemory::finish(int64_t process, int64_t firstNs) {
  for (const auto& [key, place] : m_places) {
    const int64_t rest = place.liveBefore.value_or(0) - place.freedOfBefore;
    if (rest <= 0) continue;
    // One row for all that was there before and is there at the end; where it lies is not known.
    const int64_t id = m_file.rows().nextId<schema::AllocationRow>();
    insertAllocation(place, process, id, firstNs, 0, rest);
  }
  if (m_firstBefore == 0) return Unit{};
  return m_file.database().execute(fmt::format("UPDATE allocation SET start_ns = {} WHERE id >= {} AND start_ns = {}",
                                               firstNs, m_firstBefore, kSinceBefore));
}

}  // namespace plumb::import
