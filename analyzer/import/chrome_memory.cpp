// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace plumb::import {
namespace {

constexpr int64_t kCpu = 0;                            // c10::DeviceType
constexpr int64_t kFirstOwnType = 1 << 20;             // above all of c10's
constexpr int64_t kSinceBefore = -(int64_t{1} << 61);  // stands for the time of the trace's first event

}  // namespace

void ChromeMemory::Loss::note(uint64_t offset) {
  firstOffset = count == 0 ? offset : std::min(firstOffset, offset);
  ++count;
}

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
  if (start < place.lastStart && !m_isDisordered) {
    m_isDisordered = true;
    m_disorderOffset = offset;
    m_live.clear();
  }
  place.lastStart = start;
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
  if (m_firstId == 0) m_firstId = id;
  insertAllocation(place, process, id, start, key.address, bytes);
  if (m_isDisordered) return id;
  const auto [entry, isNew] = m_live.try_emplace(key, id);
  if (isNew) return id;
  m_freeMissing.note(offset);
  m_assumedFreed.push_back(entry->second);
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
    id = m_file.rows().nextId<schema::AllocationRow>();
    if (m_firstId == 0) m_firstId = id;
    if (m_firstBefore == 0) m_firstBefore = id;
    insertAllocation(place, process, id, kSinceBefore, key.address, bytes);
    if (!m_isDisordered) {
      m_freeOfEarlier.note(offset);
      place.freedOfBefore += bytes;
    }
  }
  // Until it is matched anew the place of the event stands for the correlation id, which no event here has.
  const auto where = m_isDisordered ? std::optional(static_cast<int64_t>(offset)) : std::nullopt;
  m_file.rows().insert(schema::DeallocationRow{.allocation_id = id, .start_ns = start, .correlation = where});
}

void ChromeMemory::noteUnmatched(const Address& where, int64_t bytes, uint64_t offset) {
  m_freeOfEarlier.note(offset);
  for (auto& [key, place] : m_places) {
    const bool isFromPool = place.device && place.isFromPool;
    if (place.device.value_or(0) != where.device || place.space != where.space ||
        isFromPool != (where.isFromPool != 0)) {
      continue;
    }
    place.freedOfBefore += bytes;
    return;
  }
}

// An allocation and the end of one that nothing matched stand in the file as they came; ids are in the file's order,
// which tells what is first of two at one time.
Status ChromeMemory::pairByTime(const std::string& ofThese) {
  schema::Database& database = m_file.database();
  enum Kind : int64_t { Allocated, FreedOfKnown, Freed };
  auto rows = database.prepare(fmt::format(
      "SELECT process_id, coalesce(device_id, 0), address, from_pool, space, start_ns, id, 0 AS kind, bytes, 0"
      " FROM allocation WHERE {0} AND start_ns <> {1} UNION ALL "
      "SELECT process_id, coalesce(device_id, 0), address, from_pool, space, d.start_ns, id,"
      " CASE a.start_ns WHEN {1} THEN 2 ELSE 1 END, bytes, coalesce(d.correlation, {2})"
      " FROM allocation a JOIN deallocation d ON d.allocation_id = a.id WHERE {0}"
      " ORDER BY 1, 2, 3, 4, 5, 6, 7, 8",
      ofThese, kSinceBefore, m_disorderOffset));
  if (!rows.ok()) return rows.error();
  auto pair = database.prepare("INSERT INTO temp.freed(allocation_id, start_ns) VALUES(?, ?)");
  if (!pair.ok()) return pair.error();
  auto drop = database.prepare("INSERT INTO temp.matched_end(id) VALUES(?)");
  if (!drop.ok()) return drop.error();
  auto copy = database.prepare(
      fmt::format("INSERT INTO allocation(id, process_id, device_id, start_ns, address, bytes, space, from_pool)"
                  " SELECT ?, process_id, device_id, {}, address, bytes, space, from_pool FROM allocation WHERE id = ?",
                  kSinceBefore));
  if (!copy.ok()) return copy.error();
  bool isWritten = true;
  const auto write = [&](schema::Statement& statement, auto... values) {
    (statement.bind(int64_t{values}), ...);
    isWritten = statement.run() && isWritten;
  };
  Address where;
  int64_t open = 0;  // id of what lives at the address
  while (isWritten && rows.value().next()) {
    schema::Statement& row = rows.value();
    Address here{row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.text(4)};
    if (!(here == where)) open = 0;
    where = std::move(here);
    const int64_t time = row.integer(5), id = row.integer(6), kind = row.integer(7);
    if (kind == Allocated) {
      if (open != 0) {
        m_freeMissing.note(m_disorderOffset);
        write(pair.value(), open, time);
      }
      open = id;
    } else if (kind == FreedOfKnown && std::ranges::binary_search(m_assumedFreed, id)) {
      continue;  // no event
    } else if (open != 0) {
      write(pair.value(), open, time);
      if (kind == Freed) write(drop.value(), id);
      open = 0;
    } else {
      noteUnmatched(where, row.integer(8), static_cast<uint64_t>(row.integer(9)));
      int64_t own = id;
      if (kind == FreedOfKnown) {
        own = m_file.rows().nextId<schema::AllocationRow>();
        if (m_firstBefore == 0) m_firstBefore = own;
        write(copy.value(), own, id);
      }
      write(pair.value(), own, time);
    }
  }
  return isWritten ? Status(Unit{}) : Error{database.lastError()};
}

Status ChromeMemory::matchAnew() {
  if (m_firstId == 0) return Unit{};
  for (auto& [key, place] : m_places) place.freedOfBefore = 0;
  m_freeOfEarlier = m_freeMissing = {};
  std::ranges::sort(m_assumedFreed);
  const std::string ofThese =
      fmt::format("id >= {} AND process_id IN ({})", m_firstId, fmt::join(m_registry.processes(), ","));
  schema::Database& database = m_file.database();
  if (Status made = database.execute("CREATE TEMP TABLE freed(allocation_id INTEGER PRIMARY KEY, start_ns INTEGER);"
                                     "CREATE TEMP TABLE matched_end(id INTEGER PRIMARY KEY)");
      !made.ok()) {
    return made;
  }
  if (Status paired = pairByTime(ofThese); !paired.ok()) return paired;
  return database.execute(
      fmt::format("DELETE FROM deallocation WHERE allocation_id IN (SELECT id FROM allocation WHERE {});"
                  "DELETE FROM allocation WHERE id IN (SELECT id FROM temp.matched_end);"
                  "INSERT INTO deallocation(allocation_id, start_ns) SELECT allocation_id, start_ns FROM temp.freed;"
                  "DROP TABLE temp.freed; DROP TABLE temp.matched_end",
                  ofThese));
}

// A running sum was stored in the file's order: its differences are the changes.
Status ChromeMemory::sumAnew(int64_t process, const Place& place) {
  return m_file.database().execute(fmt::format(
      "UPDATE counter_sample SET value = s.total FROM (SELECT id, sum(change) OVER (ORDER BY start_ns, id) AS total "
      "FROM"
      " (SELECT rowid AS id, start_ns, value - lag(value, 1, 0) OVER (ORDER BY rowid) AS change FROM counter_sample"
      " WHERE process_id = {} AND name_id = {})) s WHERE counter_sample.rowid = s.id",
      process, place.changeName));
}

// What is reserved was stored, in the file's order, behind the first total of every row of equal ones.
Status ChromeMemory::thinReserved(int64_t process, const Place& place) {
  schema::Database& database = m_file.database();
  const std::string reserved = fmt::format("process_id = {} AND name_id = {}", process, place.reservedName);
  if (Status made =
          database.execute("CREATE TEMP TABLE reserved(id INTEGER PRIMARY KEY, start_ns INTEGER, value REAL)");
      !made.ok()) {
    return made;
  }
  const Status done = database.execute(fmt::format(
      "INSERT INTO temp.reserved SELECT id, start_ns, max(value) OVER (PARTITION BY step) FROM"
      " (SELECT rowid AS id, start_ns, CASE name_id WHEN {0} THEN value END AS value,"
      "   count(*) FILTER (WHERE name_id = {0}) OVER (ORDER BY rowid) AS step,"
      "   coalesce(lead(name_id) OVER (ORDER BY rowid) = {0} AND name_id <> {0}, 0) AS is_said"
      "  FROM counter_sample WHERE process_id = {1} AND name_id IN ({0}, {2}, {3})) WHERE step > 0 AND NOT is_said;"
      "DELETE FROM counter_sample WHERE {4};"
      "INSERT INTO counter_sample(process_id, start_ns, name_id, value) SELECT {1}, start_ns, {0}, value FROM"
      " (SELECT id, start_ns, value, lag(value) OVER (ORDER BY start_ns, id) AS last FROM temp.reserved)"
      " WHERE last IS NULL OR last <> value ORDER BY start_ns, id",
      place.reservedName, process, place.allocatedName, place.changeName, reserved));
  if (!done.ok()) return done;
  return database.execute("DROP TABLE temp.reserved");
}

Status ChromeMemory::finish(int64_t process, int64_t firstNs) {
  if (m_isDisordered) {
    if (Status matched = matchAnew(); !matched.ok()) return matched;
    for (const auto& [key, place] : m_places) {
      if (m_hasComputedTotals) break;  // counters of their own, which are not this one's
      if (Status summed = sumAnew(process, place); !summed.ok()) return summed;
      if (Status thinned = thinReserved(process, place); !thinned.ok()) return thinned;
    }
  }
  m_tally.count(Reason::FreeOfEarlierMemory, m_freeOfEarlier.firstOffset, m_freeOfEarlier.count);
  m_tally.count(Reason::FreeMissing, m_freeMissing.firstOffset, m_freeMissing.count);
  for (const auto& [key, place] : m_places) {
    const int64_t rest = place.liveBefore.value_or(0) - place.freedOfBefore;
    if (rest <= 0) continue;
    // One row for all that was there before and is there at the end; where it lies is not known.
    const int64_t id = m_file.rows().nextId<schema::AllocationRow>();
    insertAllocation(place, process, id, firstNs, 0, rest);
  }
  if (m_firstBefore == 0) return Unit{};
  return m_file.database().execute(
      fmt::format("UPDATE allocation SET start_ns = {} WHERE id >= {} AND start_ns = {} AND process_id IN ({})",
                  firstNs, m_firstBefore, kSinceBefore, fmt::join(m_registry.processes(), ",")));
}

}  // namespace plumb::import
