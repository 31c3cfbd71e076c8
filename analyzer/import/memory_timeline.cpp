// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/memory_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/import/losses.h"
#include "analyzer/import/registry.h"
#include "analyzer/import/source_end.h"

namespace plumb::import {
namespace {

constexpr LossReason kDamagedRow = {
    false, true, "error", "damaged_event",
    "{0} [row|rows] of {1} [is|are] damaged and left out; [it is|the first] at byte {2} of its JSON."};
constexpr LossReason kFreedUnseen = {
    true, false, "warning", "freed_unseen",
    "{0} [row|rows] of {1} [ends|end] memory whose beginning is not in it; it seems to begin with the timeline."};
constexpr LossReason kMadeUp = {true, false, "info", "addresses_made_up",
                                "The addresses of {1} are made up: its rows name none ({0} allocations)."};
constexpr LossReason kHalfChange = {false, true, "error", "half_change",
                                    "{0} [row|rows] of {1} [is|are] one half of a change of category and [is|are] left "
                                    "out; [it is|the first] at byte {2} of its JSON."};

// In the order of torch's numbers; the names are torch's, the categories ours.
struct Category {
  const char* name;
  const char* category;
};
constexpr std::array<Category, 8> kCategories = {{{"parameter", "parameter"},
                                                  {"optimizer state", "optimizer_state"},
                                                  {"input", "input"},
                                                  {"temporary", "workspace"},
                                                  {"activation", "activation"},
                                                  {"gradient", "gradient"},
                                                  {"autograd detail", "activation"},
                                                  {"unknown", "unattributed"}}};
constexpr int64_t kUnknown = 7;
constexpr int64_t kPreexisting = 1, kCreate = 2, kIncrementVersion = 3, kDestroy = 4;
constexpr int64_t kLatestNs = int64_t{1} << 61;
constexpr int64_t kMostBytes = int64_t{1} << 50;

struct Row {
  int64_t time = 0, action = 0, bytes = 0, category = 0;
};

// "[1, 2, 3, 4]" with whatever blanks.
std::optional<Row> parseRow(std::string_view text) {
  std::array<int64_t, 4> values{};
  size_t at = text.find_first_not_of(" \t\r\n");
  if (at == std::string_view::npos || text[at] != '[') return std::nullopt;
  ++at;
  for (size_t i = 0; i < values.size(); ++i) {
    at = text.find_first_not_of(" \t\r\n", at);
    if (at == std::string_view::npos) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), values[i]);
    if (error != std::errc()) return std::nullopt;
    at = text.find_first_not_of(" \t\r\n", static_cast<size_t>(end - text.data()));
    if (at == std::string_view::npos || text[at] != (i + 1 < values.size() ? ',' : ']')) return std::nullopt;
    ++at;
  }
  const Row row{values[0], values[1], values[2], values[3]};
  const bool isUsable = row.time >= -1 && row.time < kLatestNs && row.action >= kPreexisting &&
                        row.action <= kDestroy && row.category >= 0 && row.category <= kUnknown &&
                        row.bytes > -kMostBytes && row.bytes < kMostBytes &&
                        (row.action != kPreexisting || row.bytes >= 0) && (row.action != kCreate || row.bytes >= 0) &&
                        (row.action != kDestroy || row.bytes <= 0);
  return isUsable ? std::optional(row) : std::nullopt;
}

class Timeline {
 public:
  explicit Timeline(SourceContext& context) : m_context(context), m_registry(context.file, true) {
    m_process = m_registry.process("0");
    m_registry.noteHostPid("0", HostSign::Call);
    m_registry.nameProcess("0", "PyTorch memory timeline");
  }

  void read() {
    std::string buffer;
    size_t at = 0;
    uint64_t base = 0;  // offset of the buffer
    bool isOpen = false;
    while (true) {
      at = std::min(buffer.find_first_not_of(" \t\r\n,", at), buffer.size());
      if (at == buffer.size()) {
        base += at;
        buffer.clear();
        at = 0;
        if (!m_context.source.append(buffer)) break;
        if (m_context.progress) m_context.progress(m_context.source);
        continue;
      }
      if (!isOpen) {
        isOpen = buffer[at] == '[';
        ++at;
        continue;
      }
      // The end, unless more rows follow: then it belongs to a row that is damaged.
      m_isComplete = buffer[at] == ']';
      if (m_isComplete) {
        ++at;
        continue;
      }
      size_t end = buffer.find(']', at);
      if (end == std::string::npos) {
        base += at;
        buffer.erase(0, at);
        at = 0;
        constexpr size_t kLongestRow = 4096;
        if (buffer.size() < kLongestRow && m_context.source.append(buffer)) continue;
        ++m_result.events;
        m_losses.count(kDamagedRow, base);
        if (buffer.size() < kLongestRow) break;  // cut
        buffer.clear();
        continue;
      }
      // What is no row at all ends before the next one.
      if (const size_t next = buffer.find('[', at + (buffer[at] == '[' ? 1 : 0)); next < end) end = next - 1;
      ++m_result.events;
      if (const auto row = parseRow(std::string_view(buffer).substr(at, end + 1 - at))) {
        take(*row, base + at);
      } else {
        m_losses.count(kDamagedRow, base + at);
      }
      at = end + 1;
    }
    dropHalf();
  }

  [[nodiscard]] SourceResult finish() {
    m_losses.count(kMadeUp, 0, m_allocations);
    m_result.rank = m_context.rank ? m_context.rank : rankInName(m_context.name);
    std::optional<std::string> problem = m_context.source.problem();
    if (!problem && !m_isComplete) problem = "its JSON ends early";
    finishSource(m_context, m_registry, m_losses,
                 {.process = m_process, .originNs = m_originNs, .lastNs = m_lastNs, .problem = std::move(problem)},
                 m_result);
    return std::move(m_result);
  }
  [[nodiscard]] bool isEmpty() const { return m_result.events == m_losses.of(kDamagedRow); }

 private:
  struct Live {
    int64_t allocation = 0, region = 0;  // region 0: none
    uint64_t address = 0;
  };
  using Key = std::pair<int64_t, int64_t>;  // category, bytes

  // A change of category is two rows, minus the old and plus the new.
  void take(const Row& row, uint64_t offset) {
    if (row.time >= 0 && !m_originNs) m_originNs = row.time;
    const int64_t now = row.time < 0 ? 0 : std::max(m_lastNs, row.time - m_originNs.value_or(row.time));
    m_lastNs = now;
    if (m_half) {
      const auto [half, halfOffset] = *std::exchange(m_half, std::nullopt);
      if (row.action == kIncrementVersion && row.bytes == -half.bytes) return change(half, row, now);
      m_losses.count(kHalfChange, halfOffset);
    }
    if (row.action == kIncrementVersion) {
      m_half = {row, offset};
    } else if (row.bytes == 0) {
      // Nothing to show.
    } else if (row.action == kDestroy) {
      destroy(row, now);
    } else {
      (void)create(row.category, row.bytes, row.action == kPreexisting ? 0 : now);
    }
  }
  void dropHalf() {
    if (m_half) m_losses.count(kHalfChange, m_half->second);
    m_half.reset();
  }

  Live create(int64_t category, int64_t bytes, int64_t start) {
    auto& rows = m_context.file.rows();
    Live live;
    live.allocation = rows.nextId<schema::AllocationRow>();
    live.address = m_nextAddress;
    m_nextAddress += static_cast<uint64_t>(bytes);
    ++m_allocations;
    rows.insert(schema::AllocationRow{.id = live.allocation,
                                      .process_id = m_process,
                                      .device_id = std::nullopt,
                                      .stream_id = std::nullopt,
                                      .start_ns = start,
                                      .address = static_cast<int64_t>(live.address),
                                      .bytes = bytes,
                                      .space = "device",
                                      .from_pool = 1,
                                      .correlation = std::nullopt});
    live.region = declare(live, category, bytes, start);
    m_live[{category, bytes}].push_back(live);
    return live;
  }

  int64_t declare(const Live& live, int64_t category, int64_t bytes, int64_t start) {
    if (category == kUnknown) return 0;
    auto& rows = m_context.file.rows();
    const Category& names = kCategories[static_cast<size_t>(category)];
    const int64_t region = rows.nextId<schema::MemoryRegionRow>();
    rows.insert(schema::MemoryRegionRow{.id = region,
                                        .process_id = m_process,
                                        .start_ns = start,
                                        .address = static_cast<int64_t>(live.address),
                                        .bytes = bytes,
                                        .name_id = m_context.file.textId(names.name),
                                        .category = names.category});
    return region;
  }
  void endRegion(const Live& live, int64_t now) {
    if (live.region == 0) return;
    m_context.file.rows().insert(schema::MemoryRegionEndRow{.region_id = live.region, .start_ns = now});
  }

  // The latest of that category and size; made up when there is none.
  Live pop(int64_t category, int64_t bytes) {
    auto& all = m_live[{category, bytes}];
    if (all.empty()) {
      m_losses.count(kFreedUnseen, 0);
      (void)create(category, bytes, 0);
    }
    const Live live = all.back();
    all.pop_back();
    return live;
  }

  void destroy(const Row& row, int64_t now) {
    const Live live = pop(row.category, -row.bytes);
    endRegion(live, now);
    m_context.file.rows().insert(
        schema::DeallocationRow{.allocation_id = live.allocation, .start_ns = now, .correlation = std::nullopt});
  }

  void change(const Row& from, const Row& to, int64_t now) {
    if (from.category == to.category || to.bytes == 0) return;
    const bool isForward = to.bytes > 0;
    const Row& old = isForward ? from : to;
    const Row& fresh = isForward ? to : from;
    Live live = pop(old.category, fresh.bytes);
    endRegion(live, now);
    live.region = declare(live, fresh.category, fresh.bytes, now);
    m_live[{fresh.category, fresh.bytes}].push_back(live);
  }

  SourceContext& m_context;
  Registry m_registry;
  Losses m_losses;
  SourceResult m_result;
  std::map<Key, std::vector<Live>> m_live;
  std::optional<std::pair<Row, uint64_t>> m_half;
  std::optional<int64_t> m_originNs;
  int64_t m_process = 0, m_lastNs = 0;
  uint64_t m_nextAddress = uint64_t{1} << 32, m_allocations = 0;
  bool m_isComplete = false;
};

// "[[-1, 1, 37888, 7]" and not "[[1, 2, 3, 4, 5, …": whether the first row has four numbers, or more.
enum class Shape : uint8_t { Other, Raw, Summed };
Shape shapeOf(std::string_view head) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '[') return Shape::Other;
  const size_t second = head.find_first_not_of(" \t\r\n", first + 1);
  if (second == std::string_view::npos || head[second] != '[') return Shape::Other;
  const std::string_view row = head.substr(second + 1, head.find(']', second) - second - 1);
  if (row.find_first_not_of("-0123456789, \t\r\n") != std::string_view::npos) return Shape::Other;
  return std::count(row.begin(), row.end(), ',') == 3 ? Shape::Raw : Shape::Summed;
}

// A raw one whose first bytes are damaged: nothing but rows of four numbers, a few bytes aside.
bool isDamagedRaw(std::string_view head) {
  constexpr size_t kLeast = 200, kMostOther = 4;  // bytes
  head = head.substr(0, 64u << 10);
  const auto isOther = [](char c) {
    return std::string_view("-0123456789, []\t\r\n").find(c) == std::string_view::npos;
  };
  if (head.size() < kLeast || static_cast<size_t>(std::ranges::count_if(head, isOther)) > kMostOther) return false;
  size_t rows = 0, others = 0;
  for (size_t at = head.find('['); at < head.size();) {
    const size_t next = head.find('[', at + 1);
    ++(parseRow(head.substr(at, head.find(']', at) - at + 1)) ? rows : others);
    at = next;
  }
  return rows > 4 * others;
}

}  // namespace

bool looksLikeMemoryTimeline(std::string_view head, const std::string&) {
  return shapeOf(head) != Shape::Other || isDamagedRaw(head);
}

Result<SourceResult> readMemoryTimeline(SourceContext& context) {
  if (shapeOf(context.source.peek(1u << 20)) == Shape::Summed) {
    return Error{fmt::format(
        "{} is no raw memory timeline: its first row has not four numbers (time, action, bytes, category). A timeline "
        "that torch has summed up is exported raw with a name that ends in .raw.json.gz.",
        context.path)};
  }
  Timeline timeline(context);
  timeline.read();
  if (timeline.isEmpty()) {
    const auto& problem = context.source.problem();
    return Error{fmt::format("{} holds no row of a memory timeline that can be read: {}.", context.path,
                             problem.value_or("all are damaged"))};
  }
  return timeline.finish();
}

}  // namespace plumb::import
