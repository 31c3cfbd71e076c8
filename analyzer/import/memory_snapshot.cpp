// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/memory_snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_set>
#include <utility>

#include "analyzer/import/losses.h"
#include "analyzer/import/memory_snapshot_play.h"
#include "analyzer/import/memory_snapshot_said.h"
#include "analyzer/import/registry.h"
#include "analyzer/import/source_end.h"
#include "analyzer/import/stacks.h"
#include "analyzer/import/tally.h"

namespace plumb::import {
namespace {

constexpr LossReason kDamagedEvent = {false, true, "error", "damaged_event",
                                      "{0} [event|events] of the allocator in {1} [is|are] damaged and left out; [it "
                                      "is|the first] at byte {2} of its pickle data."};
constexpr LossReason kDamagedBlock = {false, true, "error", "damaged_block",
                                      "{0} [segment|segments] or [block|blocks] of {1} [is|are] damaged and left out; "
                                      "[it is|the first] at byte {2} of its pickle data."};
constexpr LossReason kRepeated = {
    false, true, "error", "repeated",
    "{0} [event|events] or [block|blocks] of {1} [is a reference to one|are references to ones] that came before; [it "
    "is|they are] counted once; [it is|the first] at byte {2}."};
constexpr LossReason kOtherAction = {false, false, "warning", "other_action",
                                     "{0} [event|events] of {1} [is|are] of kinds that are not known, and [is|are] "
                                     "left out; [it is|the first] at byte {2} of its pickle data."};
constexpr LossReason kCompletion = {false, false, "info", "free_completed",
                                    "{0} [event|events] of {1} [says|say] that a free is complete; memory counts as "
                                    "freed when the program gave it back, which is another event."};
constexpr LossReason kInactive = {false, false, "info", "inactive_block",
                                  "{0} [block|blocks] of {1} [is a free part of a segment|are free parts of segments]; "
                                  "[it is|they are] in the reserved memory."};
constexpr LossReason kFreedUnseen = {
    true, false, "info", "freed_unseen",
    "{0} [allocation|allocations] of {1} [is|are] older than its history; [it seems|they seem] to begin with it."};
constexpr LossReason kOverwritten = {true, false, "warning", "free_missing",
                                     "{0} [time|times] an address of {1} was handed out again without having been "
                                     "freed; the earlier allocation ends there."};
constexpr LossReason kNotInSegments = {true, false, "warning", "not_in_segments",
                                       "{0} [allocation|allocations] of {1} [is|are] live by its events but not in its "
                                       "segments; [it is|they are] kept as live."};
constexpr LossReason kNoTime = {
    true, false, "warning", "no_time",
    "{0} [event|events] of {1} [has|have] no time: its history shows the order, a microsecond each."};
constexpr LossReason kOpenAnnotation = {true, false, "info", "never_ended",
                                        "{0} [annotation|annotations] of {1} [begins|begin] and [does|do] not end."};
constexpr LossReason kUntimedAnnotation = {
    false, false, "warning", "no_time",
    "{0} [annotation|annotations] of {1} [is|are] left out: [it has a time|they have times] and its history has none, "
    "so [its|their] place in it is not known."};
constexpr LossReason kOtherDevice = {false, true, "error", "damaged_event",
                                     "{0} [event|events] of {1} [is|are] of devices beyond the 1024th and [is|are] "
                                     "left out; [it is|the first] at byte {2} of its pickle data."};
constexpr LossReason kEndWithoutBegin = {
    false, false, "info", "end_without_begin",
    "{0} [end|ends] of annotations of {1} [has|have] no beginning and [is|are] left out."};

constexpr int64_t kLatestUs = (int64_t{1} << 61) / 1000;
constexpr int64_t kMostBytes = int64_t{1} << 50;
constexpr uint64_t kMostDevices = 1024;

std::string bytesText(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.2f} {}", value, kUnits[unit]);
}

class Snapshot {
 public:
  Snapshot(SourceContext& context, const PlainDocument& document)
      : m_context(context), m_document(document), m_registry(context.file, true), m_stacks(context.file, document) {}

  [[nodiscard]] SourceResult run() {
    m_process = m_registry.process("0");
    m_registry.noteHostPid("0", HostSign::Call);
    m_registry.nameProcess("0", "PyTorch memory snapshot");
    m_thread = m_registry.thread(m_process, "0", "0");
    findOrigin();
    storeSnapshotSaid(m_context, m_document, m_process);
    readTraces();
    readAnnotations();
    readSegments();
    for (auto& [ordinal, device] : m_devices) finishDevice(ordinal, device);
    return finish();
  }

 private:
  struct DeviceState {
    std::optional<SnapshotPlay> play;
    bool hasSegments = false;
    bool isComplete = true;
    uint64_t oomCount = 0;
    std::string firstOom;
    int64_t firstOomNs = 0;
  };

  [[nodiscard]] const PlainValue* traces() const { return m_document.find(m_document.root(), "device_traces"); }

  [[nodiscard]] std::optional<int64_t> timeOf(const PlainValue& event) const {
    const auto us = m_document.integer(event, "time_us");
    if (!us || *us < 0 || *us >= kLatestUs) return std::nullopt;
    return *us * 1000;
  }

  void findOrigin() {
    if (!traces()) return;
    std::optional<int64_t> first;
    for (const PlainValue& trace : m_document.items(*traces())) {
      if (!m_walked.insert(PlainDocument::identity(trace)).second) continue;
      for (const PlainValue& event : m_document.items(trace)) {
        const auto time = timeOf(event);
        if (time && *time > 0) first = std::min(first.value_or(*time), *time);
      }
    }
    const bool hasEvents = !m_walked.empty();
    m_walked.clear();
    // A ring of events can begin after the annotations do.
    const PlainValue* annotations = m_document.find(m_document.root(), "external_annotations");
    if (annotations && (first || !hasEvents)) {
      for (const PlainValue& annotation : m_document.items(*annotations)) {
        const auto time = timeOf(annotation);
        if (time && *time > 0) first = std::min(first.value_or(*time), *time);
      }
    }
    m_isTimed = first.has_value();
    m_originNs = first.value_or(0);
  }

  SnapshotPlay& playOf(int64_t ordinal) {
    DeviceState& device = m_devices[ordinal];
    if (!device.play) device.play.emplace(0);
    return *device.play;
  }

  void readTraces() {
    if (!traces()) return;
    int64_t ordinal = 0;
    for (const PlainValue& trace : m_document.items(*traces())) {
      if (static_cast<uint64_t>(ordinal) >= kMostDevices) {
        m_losses.count(kOtherDevice, m_document.offset(trace), m_document.items(trace).size());
        m_result.events += m_document.items(trace).size();
        continue;
      }
      if (m_document.items(trace).empty()) {
        ++ordinal;
        continue;
      }
      if (!m_walked.insert(PlainDocument::identity(trace)).second) {
        m_losses.count(kRepeated, m_document.offset(trace), m_document.items(trace).size());
        m_result.events += m_document.items(trace).size();
      } else {
        readTrace(ordinal, trace);
      }
      ++ordinal;
    }
  }

  void readTrace(int64_t ordinal, const PlainValue& trace) {
    int64_t now = 0;  // relative; never goes back
    for (const PlainValue& event : m_document.items(trace)) {
      ++m_result.events;
      const uint64_t offset = m_document.offset(event);
      if (event.kind != PlainKind::Dict || m_document.isCut(event)) {
        m_losses.count(kDamagedEvent, offset);
        continue;
      }
      if (!m_walked.insert(PlainDocument::identity(event)).second) {
        m_losses.count(kRepeated, offset);
        continue;
      }
      const auto time = timeOf(event);
      if (m_isTimed) {
        if (!time) {
          m_losses.count(kDamagedEvent, offset);
          continue;
        }
        now = std::max(now, *time - m_originNs);
      } else {
        now += 1000;
        m_losses.count(kNoTime, offset);
      }
      m_lastNs = std::max(m_lastNs, now);
      if (!apply(ordinal, event, now)) m_losses.count(kDamagedEvent, offset);
    }
  }

  // False: it lacks something that it must have.
  bool apply(int64_t ordinal, const PlainValue& event, int64_t now) {
    const std::string_view action = m_document.text(event, "action");
    if (action.empty()) return false;
    const auto bytes = m_document.integer(event, "size");
    if (action == "oom") return bytes && noteOom(ordinal, event, *bytes, now);
    if (action == "snapshot") {
      mark("memory snapshot", now);
      (void)playOf(ordinal);
      return true;
    }
    if (action == "user_defined") {
      const std::string_view text = m_document.text(event, "user_metadata");
      mark(text.empty() ? action : text, now);
      return true;
    }
    static constexpr std::array<std::string_view, 8> kActions = {"alloc",          "free_requested", "free",
                                                                 "free_completed", "segment_alloc",  "segment_map",
                                                                 "segment_free",   "segment_unmap"};
    if (std::find(kActions.begin(), kActions.end(), action) == kActions.end()) {
      m_losses.count(kOtherAction, m_document.offset(event));
      return true;
    }
    countTiedTexts(m_document, event, m_losses);
    const auto address = m_document.integer(event, "addr");
    if (!address || *address < 0 || !bytes || *bytes <= 0 || *bytes >= kMostBytes) return false;
    const int64_t stream = m_document.integer(event, "stream").value_or(0);
    const auto at = static_cast<uint64_t>(*address);
    SnapshotPlay& play = playOf(ordinal);
    const auto begin = [&] {
      return Lifetime{
          at, *bytes, stream, now, std::nullopt, std::nullopt, m_stacks.idOf(m_document.find(event, "frames"))};
    };
    if (action == "alloc") {
      play.allocate(begin());
    } else if (action == "free_requested" || action == "free") {
      play.requestFree(at, *bytes, stream, now);
    } else if (action == "free_completed") {
      play.completeFree(at, now);
      m_losses.count(kCompletion, m_document.offset(event));
    } else if (action == "segment_alloc" || action == "segment_map") {
      play.reserve(begin());
    } else {
      play.release(at, *bytes, stream, now);
    }
    return true;
  }

  bool noteOom(int64_t ordinal, const PlainValue& event, int64_t bytes, int64_t now) {
    (void)playOf(ordinal);
    DeviceState& device = m_devices[ordinal];
    std::string text = fmt::format("out of memory: {} were asked for", bytesText(bytes));
    if (const auto free = m_document.integer(event, "device_free")) {
      text += fmt::format(", {} were free on device {}", bytesText(*free), ordinal);
    }
    if (const auto stack = m_stacks.idOf(m_document.find(event, "frames"))) {
      text += fmt::format(", at {}", m_stacks.nameOf(*stack));
    }
    mark(text, now);
    if (device.oomCount++ == 0) {
      device.firstOom = std::move(text);
      device.firstOomNs = now;
    }
    return true;
  }

  void mark(std::string_view text, int64_t now) { range(text, now, 0, "mark"); }
  void range(std::string_view text, int64_t start, std::optional<int64_t> duration, const char* kind) {
    m_context.file.rows().insert(schema::RangeRow{.id = m_context.file.rows().nextId<schema::RangeRow>(),
                                                  .process_id = m_process,
                                                  .thread_id = m_thread,
                                                  .end_thread_id = std::nullopt,
                                                  .start_ns = start,
                                                  .duration_ns = duration,
                                                  .kind = kind,
                                                  .depth = 0,
                                                  .parent_id = std::nullopt,
                                                  .domain_id = m_context.file.textId("PyTorch memory"),
                                                  .name_id = m_context.file.textId(text),
                                                  .category_id = std::nullopt,
                                                  .color_argb = std::nullopt});
  }

  // Ranges of torch.profiler's record_function that were recorded beside the history.
  void readAnnotations() {
    const PlainValue* annotations = m_document.find(m_document.root(), "external_annotations");
    if (!annotations) return;
    if (!m_isTimed) {
      const size_t count = m_document.items(*annotations).size();
      m_result.events += count;
      return m_losses.count(kUntimedAnnotation, m_document.offset(*annotations), count);
    }
    std::unordered_map<std::string, std::vector<int64_t>> open;
    for (const PlainValue& annotation : m_document.items(*annotations)) {
      ++m_result.events;
      const auto time = timeOf(annotation);
      const std::string name(m_document.text(annotation, "name"));
      const std::string_view stage = m_document.text(annotation, "stage");
      if (!time || *time < m_originNs || name.empty()) {
        m_losses.count(kDamagedEvent, m_document.offset(annotation));
        continue;
      }
      const int64_t now = *time - m_originNs;
      m_lastNs = std::max(m_lastNs, now);
      if (stage == "START") {
        open[name].push_back(now);
      } else if (stage != "END") {
        mark(name, now);
      } else if (auto& starts = open[name]; starts.empty()) {
        m_losses.count(kEndWithoutBegin, m_document.offset(annotation));
      } else {
        range(name, starts.back(), std::max<int64_t>(now - starts.back(), 0), "push_pop");
        starts.pop_back();
      }
    }
    for (const auto& [name, starts] : open) {
      for (const int64_t start : starts) {
        range(name, start, std::nullopt, "push_pop");
        m_losses.count(kOpenAnnotation, 0);
      }
    }
  }

  void readSegments() {
    const PlainValue* segments = m_document.find(m_document.root(), "segments");
    if (!segments && m_document.root().kind == PlainKind::List) segments = &m_document.root();  // the oldest form
    if (!segments) return;
    const bool isCut = m_document.isCut(*segments);
    for (const PlainValue& segment : m_document.items(*segments)) {
      ++m_result.events;
      const auto address = m_document.integer(segment, "address");
      const auto bytes = m_document.integer(segment, "total_size");
      const int64_t ordinal = m_document.integer(segment, "device").value_or(0);
      const bool isUsable = address && *address >= 0 && bytes && *bytes > 0 && *bytes < kMostBytes && ordinal >= 0 &&
                            static_cast<uint64_t>(ordinal) < kMostDevices;
      if (!isUsable) {
        m_losses.count(kDamagedBlock, m_document.offset(segment));
        continue;
      }
      if (!m_walked.insert(PlainDocument::identity(segment)).second) {
        m_losses.count(kRepeated, m_document.offset(segment));
        continue;
      }
      const int64_t stream = m_document.integer(segment, "stream").value_or(0);
      SnapshotPlay& play = playOf(ordinal);
      DeviceState& device = m_devices[ordinal];
      device.hasSegments = true;
      play.segmentAtEnd(static_cast<uint64_t>(*address), *bytes, stream);
      if (!readBlocks(play, segment, static_cast<uint64_t>(*address), stream) || isCut) device.isComplete = false;
    }
  }

  // False: not all of them could be read.
  bool readBlocks(SnapshotPlay& play, const PlainValue& segment, uint64_t address, int64_t stream) {
    const PlainValue* blocks = m_document.find(segment, "blocks");
    if (!blocks || !m_walked.insert(PlainDocument::identity(*blocks)).second) return false;
    bool isComplete = !m_document.isCut(*blocks);
    bool isAddressKnown = true;  // old snapshots tell it only by what lies before
    for (const PlainValue& block : m_document.items(*blocks)) {
      ++m_result.events;
      const uint64_t offset = m_document.offset(block);
      const auto bytes = m_document.integer(block, "size");
      const std::string_view state = m_document.text(block, "state");
      const auto own = m_document.integer(block, "address");
      const bool isUsable = bytes && *bytes > 0 && *bytes < kMostBytes && !state.empty() && !m_document.isCut(block) &&
                            (own ? *own >= 0 : isAddressKnown);
      if (!isUsable || !m_walked.insert(PlainDocument::identity(block)).second) {
        m_losses.count(kDamagedBlock, offset);
        isAddressKnown = isComplete = false;
        continue;
      }
      const uint64_t at = own ? static_cast<uint64_t>(*own) : address;
      address = at + static_cast<uint64_t>(*bytes);
      isAddressKnown = true;
      Lifetime lifetime{at, *bytes, stream, 0, std::nullopt, m_document.integer(block, "requested_size"), std::nullopt};
      if (state == "inactive") {
        m_losses.count(kInactive, offset);
        continue;
      }
      takeOrigin(block, lifetime);
      if (state == "active_allocated") {
        play.blockAtEnd(lifetime);
      } else {  // active_pending_free, active_awaiting_free
        play.pendingAtEnd(lifetime);
      }
    }
    return isComplete;
  }

  // Who allocated a block: new snapshots say it of the block, old ones of the allocations that were made in it.
  void takeOrigin(const PlainValue& block, Lifetime& lifetime) {
    const PlainValue* frames = m_document.find(block, "frames");
    if (const PlainValue* history = m_document.find(block, "history"); history && !m_document.items(*history).empty()) {
      const PlainValue& latest = m_document.items(*history).front();
      if (!frames) frames = m_document.find(latest, "frames");
      if (!lifetime.requestedBytes) lifetime.requestedBytes = m_document.integer(latest, "real_size");
    }
    lifetime.stack = m_stacks.idOf(frames);
  }

  void finishDevice(int64_t ordinal, DeviceState& state) {
    SnapshotPlay& play = *state.play;
    play.finish(state.hasSegments && state.isComplete && !m_document.problem());
    const int64_t device = m_registry.device(m_process, ordinal);
    for (const Lifetime& block : play.blocks()) write(device, block, "device");
    for (const Lifetime& block : play.pending()) write(device, block, "pending_free");
    for (const Lifetime& piece : play.reserved()) write(device, piece, "reserved");
    m_losses.count(kFreedUnseen, 0, play.counts().freedUnseen);
    m_losses.count(kOverwritten, 0, play.counts().overwritten);
    m_losses.count(kNotInSegments, 0, play.counts().notInSegments);
    if (state.oomCount == 0) return;
    const std::string message =
        fmt::format("The program ran {}{}.", state.firstOom,
                    state.oomCount > 1 ? fmt::format(" (the first of {})", state.oomCount) : "");
    writeDiagnostic(m_context.file, m_process, "warning", "out_of_memory", state.oomCount, message);
  }

  void write(int64_t device, const Lifetime& block, const char* space) {
    auto& rows = m_context.file.rows();
    const int64_t id = rows.nextId<schema::AllocationRow>();
    rows.insert(schema::AllocationRow{.id = id,
                                      .process_id = m_process,
                                      .device_id = device,
                                      .stream_id = m_registry.stream(m_process, device, block.stream, 0),
                                      .start_ns = block.startNs,
                                      .address = static_cast<int64_t>(block.address),
                                      .bytes = block.bytes,
                                      .space = space,
                                      .from_pool = 0,
                                      .correlation = std::nullopt});
    if (block.endNs) {
      rows.insert(schema::DeallocationRow{.allocation_id = id, .start_ns = *block.endNs, .correlation = std::nullopt});
    }
    if (block.requestedBytes || block.stack) {
      rows.insert(schema::AllocationDetailRow{
          .allocation_id = id, .requested_bytes = block.requestedBytes, .stack_id = block.stack});
    }
  }

  [[nodiscard]] SourceResult finish() {
    m_result.rank = m_context.rank ? m_context.rank : rankInName(m_context.name);
    finishSource(m_context, m_registry, m_losses,
                 {.process = m_process,
                  .originNs = m_isTimed ? std::optional(m_originNs) : std::nullopt,
                  .lastNs = m_lastNs,
                  .problem = m_document.problem()},
                 m_result);
    return std::move(m_result);
  }

  SourceContext& m_context;
  const PlainDocument& m_document;
  Registry m_registry;
  Stacks m_stacks;
  Losses m_losses;
  SourceResult m_result;
  std::map<int64_t, DeviceState> m_devices;
  std::unordered_set<int64_t> m_walked;  // containers, so that a shared one costs and counts once
  int64_t m_process = 0, m_thread = 0;
  int64_t m_originNs = 0, m_lastNs = 0;
  bool m_isTimed = false;
};

}  // namespace

bool isMemorySnapshot(const PlainDocument& document) {
  const PlainValue& root = document.root();
  if (document.find(root, "segments") || document.find(root, "device_traces")) return true;
  if (root.kind != PlainKind::List || document.items(root).empty()) return false;
  return document.find(document.items(root).front(), "total_size") != nullptr;
}

Result<SourceResult> readMemorySnapshot(SourceContext& context, const PlainDocument& document) {
  SourceResult result = Snapshot(context, document).run();
  if (result.events == result.notStored) {
    return Error{fmt::format("{} is a memory snapshot that holds nothing which can be read{}{}.", context.path,
                             document.problem() ? ": " : "", document.problem().value_or(""))};
  }
  return result;
}

}  // namespace plumb::import
