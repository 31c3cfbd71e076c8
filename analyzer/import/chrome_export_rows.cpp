// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_export_rows.h"

#include <algorithm>
#include <charconv>

#include "analyzer/import/completion.h"
#include "analyzer/import/stack_frames.h"

namespace plumb::import {
namespace {

// Apart from those of collectives, and from the ids that other sources of links count up from 1.
constexpr int64_t kFirstLink = int64_t{1} << 41;
constexpr size_t kMostFrames = 1024;

// "file.py(12): function"
StackFrame frameOf(std::string_view text) {
  for (size_t open = text.find('('); open != std::string_view::npos; open = text.find('(', open + 1)) {
    StackFrame frame{{}, text.substr(0, open), 0};
    const auto [end, error] = std::from_chars(text.data() + open + 1, text.data() + text.size(), frame.line);
    const std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
    if (error != std::errc() || !rest.starts_with("): ")) continue;
    frame.function = rest.substr(3);
    return frame;
  }
  return {text, {}, 0};
}

// One of the categories that charts know; memory_category has them.
std::string_view categoryOf(std::string_view text) {
  static constexpr std::string_view kKnown[] = {"parameter",  "gradient", "optimizer_state",
                                                "activation", "input",    "communication_buffer",
                                                "workspace",  "cached",   "unattributed"};
  const auto found = std::find(std::begin(kKnown), std::end(kKnown), text);
  return found == std::end(kKnown) ? std::string_view("unattributed") : *found;
}

bool isText(const JsonValue& value) { return value.kind == JsonKind::String; }

}  // namespace

std::optional<int64_t> ChromeStacks::idOf(const JsonValue& callStack) {
  if (!isText(callStack) || callStack.text.empty()) return std::nullopt;
  std::string text = callStack.toText();
  const auto known = m_known.find(text);
  if (known != m_known.end()) return known->second;
  std::vector<StackFrame> frames;
  for (std::string_view rest = text; !rest.empty() && frames.size() < kMostFrames;) {
    const size_t end = std::min(rest.find(';'), rest.size());
    frames.push_back(frameOf(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (frames.empty()) return std::nullopt;
  const int64_t id = insertStack(m_file, frames);
  m_known.emplace(std::move(text), id);
  return id;
}

ChromeExportFacts ChromeExportFacts::read(std::string_view json) {
  ChromeExportFacts facts;
  (void)readObject(json, [&](std::string_view key, const JsonValue& value) {
    if (key == "user_annotation") facts.isDefaultDomain = value.toText() == "default domain";
    if (key == "session start (ns)") facts.sessionStartNs = value.toInteger();
    if (key == "Total Allocated") facts.hasComputedTotals = value.toText() == "computed";
  });
  return facts;
}

bool ChromeExportRows::isOsCall(const ChromeEvent& event) {
  return event.category == "os_call" && event.argument("return value").kind == JsonKind::Number;
}

bool ChromeExportRows::isDiagnostic(const ChromeEvent& event) {
  return event.category == "diagnostic" && isText(event.argument("lane")) && isText(event.argument("code"));
}

bool ChromeExportRows::isLibraryCall(const ChromeEvent& event) {
  return event.category == "library_call" && isText(event.argument("compute type"));
}

void ChromeExportRows::osCall(const ChromeEvent& event, const HostSpan& span) {
  m_file.rows().insert(schema::OsCallRow{.id = m_file.rows().nextId<schema::OsCallRow>(),
                                         .process_id = span.process,
                                         .thread_id = span.thread,
                                         .start_ns = span.start,
                                         .duration_ns = span.duration,
                                         .name_id = m_file.textId(event.name),
                                         .result = event.argument("return value").toInteger().value_or(0),
                                         .stack_id = m_stacks.idOf(event.argument("Call stack"))});
}

void ChromeExportRows::libraryCall(const ChromeEvent& event, const HostSpan& span) {
  const auto number = [&](const char* key) { return event.argument(key).toInteger().value_or(0); };
  const auto text = [&](const char* key) { return m_file.textId(event.argument(key)); };
  const int64_t link = kFirstLink + ++m_links;
  m_file.rows().insert(schema::LibraryCallRow{.id = m_file.rows().nextId<schema::LibraryCallRow>(),
                                              .process_id = span.process,
                                              .thread_id = span.thread,
                                              .start_ns = span.start,
                                              .duration_ns = span.duration,
                                              .name_id = m_file.textId(event.name),
                                              .m = number("m"),
                                              .n = number("n"),
                                              .k = number("k"),
                                              .batch = number("batch"),
                                              .transpose_a = number("transpose a"),
                                              .transpose_b = number("transpose b"),
                                              .datatype_a_id = text("dtype a"),
                                              .datatype_b_id = text("dtype b"),
                                              .datatype_c_id = text("dtype c"),
                                              .compute_type_id = text("compute type"),
                                              .flops = event.argument("flops").toReal().value_or(0),
                                              .bytes = event.argument("bytes").toReal().value_or(0),
                                              .external_id = link});
  const JsonValue linked = event.argument("correlations");
  if (linked.kind != JsonKind::Array) return;
  (void)readArray(linked.text, [&](const JsonValue& element) {
    const int64_t correlation = element.toInteger().value_or(0);
    if (correlation == 0) return;
    m_file.rows().insert(
        schema::CorrelationLinkRow{.process_id = span.process, .external_id = link, .correlation = correlation});
  });
}

bool ChromeExportRows::instant(const ChromeEvent& event, int64_t process, int64_t start, uint64_t offset) {
  if (event.category == "cuda_event_record" && event.argument("event id").toInteger()) {
    eventRecord(event, process, start);
  } else if (isDiagnostic(event)) {
    diagnostic(event, process, start);
  } else if (event.name.text == "[memory region]") {
    region(event, process, start, offset);
  } else {
    return false;
  }
  return true;
}

void ChromeExportRows::region(const ChromeEvent& event, int64_t process, int64_t start, uint64_t offset) {
  constexpr int64_t kLargest = int64_t{1} << 50;
  const auto address = event.argument("Addr").toInteger(), bytes = event.argument("Bytes").toInteger();
  if (!address || !bytes || *bytes > kLargest || *bytes < -kLargest) return m_tally.count(Reason::NoValue, offset);
  if (*bytes < 0) {
    const auto live = m_regions.find({*address, -*bytes});
    if (live == m_regions.end()) return m_tally.count(Reason::EndWithoutBegin, offset);
    m_file.rows().insert(schema::MemoryRegionEndRow{.region_id = live->second.back(), .start_ns = start});
    live->second.pop_back();
    if (live->second.empty()) m_regions.erase(live);
    return;
  }
  const int64_t id = m_file.rows().nextId<schema::MemoryRegionRow>();
  const std::string category = event.argument("Category").toText();
  m_file.rows().insert(schema::MemoryRegionRow{.id = id,
                                               .process_id = process,
                                               .start_ns = start,
                                               .address = *address,
                                               .bytes = *bytes,
                                               .name_id = m_file.textId(event.argument("Name")),
                                               .category = categoryOf(category)});
  m_regions[{*address, *bytes}].push_back(id);
}

void ChromeExportRows::eventRecord(const ChromeEvent& event, int64_t process, int64_t start) {
  const int64_t device = m_registry.device(process, event.argument("device").toInteger().value_or(-1));
  const int64_t stream = m_registry.stream(process, device, event.argument("stream").toInteger().value_or(-1),
                                           event.argument("context").toInteger().value_or(0));
  m_file.rows().insert(schema::EventRecordRow{.id = m_file.rows().nextId<schema::EventRecordRow>(),
                                              .process_id = process,
                                              .stream_id = stream,
                                              .start_ns = start,
                                              .event_id = event.argument("event id").toInteger().value_or(0),
                                              .sync_id = event.argument("sync id").toInteger(),
                                              .correlation = event.argument("correlation").toInteger().value_or(0)});
}

void ChromeExportRows::diagnostic(const ChromeEvent& event, int64_t process, int64_t start) {
  const std::string severity = event.argument("severity").toText(), lane = event.argument("lane").toText(),
                    code = event.argument("code").toText(), message = event.name.toText();
  const bool isKnown = severity == "error" || severity == "warning";
  m_file.rows().insert(
      schema::DiagnosticRow{.id = m_file.rows().nextId<schema::DiagnosticRow>(),
                            .process_id = process,
                            .start_ns = kTimedDiagnostic + start,
                            .severity = isKnown ? std::string_view(severity) : std::string_view("info"),
                            .lane = lane,
                            .code = code,
                            .count = event.argument("count").toInteger().value_or(1),
                            .message = message});
}

}  // namespace plumb::import
