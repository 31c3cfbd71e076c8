// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <string_view>
#include <utility>

#include "analyzer/import/byte_source.h"
#include "analyzer/import/chrome_rows.h"
#include "analyzer/import/completion.h"
#include "analyzer/import/event_scanner.h"
#include "analyzer/import/tally.h"
#include "analyzer/import/trace_file.h"
#include "collector/schema/schema.h"

namespace plumb::import {
namespace {

constexpr size_t kSniffBytes = 1u << 20;

// What the members beside traceEvents say.
struct FileFacts {
  std::optional<int64_t> rank, worldSize;
  int64_t baseNs = 0;
  std::string deviceProperties;
};

struct Source {
  std::string path, name;
  std::vector<int64_t> processes;
  std::optional<int64_t> rank, worldSize;
  int64_t originNs = 0, firstNs = 0;  // absolute
};

std::optional<int64_t> rankInName(const std::string& name) {
  static const std::regex kRank("rank[_-]?([0-9]{1,6})", std::regex::icase);
  std::smatch found;
  if (!std::regex_search(name, found, kRank)) return std::nullopt;
  return std::stoll(found[1].str());
}

bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// No value: it can be imported.
std::optional<std::string> whyNot(const std::string& path, std::string_view head) {
  if (head.empty()) return fmt::format("{} is empty; there is nothing to import.", path);
  if (head.substr(0, 15) == "SQLite format 3") {
    return fmt::format(
        "{} is an SQLite database. Plumbline's own traces need no import, and Nsight Systems' exports cannot be "
        "imported "
        "yet: name a torch.profiler or Chrome trace (JSON, .gz or .zst).",
        path);
  }
  const size_t first = head.find_first_not_of(" \t\r\n");
  const char c = first == std::string_view::npos ? '\0' : head[first];
  if (c == '{' || c == '[') return std::nullopt;
  if (endsWith(path, ".nsys-rep") || endsWith(path, ".qdrep")) {
    return fmt::format(
        "{} is an Nsight Systems report, which cannot be imported yet: name a torch.profiler or Chrome trace (JSON, "
        ".gz "
        "or .zst).",
        path);
  }
  return fmt::format("{} is no trace that can be imported: name a torch.profiler or Chrome trace (JSON, .gz or .zst).",
                     path);
}

// Whether the data is torch.profiler's, by what its first megabyte holds.
bool looksLikeTorch(std::string_view head) {
  static constexpr std::string_view kMarks[] = {
      "\"cpu_op\"",   "\"python_function\"",  "\"user_annotation\"",  "\"cuda_runtime\"",    "\"gpu_memcpy\"",
      "\"kernel\"",   "\"Kernel\"",           "\"Operator\"",         "\"distributedInfo\"", "\"deviceProperties\"",
      "\"[memory]\"", "\"PyTorch Profiler\"", "\"computeProperties\""};
  return std::any_of(std::begin(kMarks), std::end(kMarks),
                     [&](std::string_view mark) { return head.find(mark) != std::string_view::npos; });
}

void takeMember(const ScannedItem& item, FileFacts& facts) {
  if (item.key == "deviceProperties" || item.key == "computeProperties") facts.deviceProperties = item.text;
  if (item.key == "baseTimeNanoseconds") {
    constexpr int64_t kLatest = int64_t{1} << 61;  // as for the events' times
    const int64_t base = JsonValue{JsonKind::Number, item.text}.toInteger().value_or(0);
    facts.baseNs = base >= 0 && base < kLatest ? base : 0;
  }
  if (item.key != "distributedInfo") return;
  (void)readObject(item.text, [&](std::string_view key, const JsonValue& value) {
    if (key == "rank") facts.rank = value.toInteger();
    if (key == "world_size") facts.worldSize = value.toInteger();
  });
}

class Import {
 public:
  Import(const ImportOptions& options, TraceFile file) : m_options(options), m_file(std::move(file)) {}

  [[nodiscard]] Result<ImportResult> run() {
    for (size_t i = 0; i < m_options.files.size(); ++i) {
      if (const Status read = readFile(i); !read.ok()) return read.error();
    }
    compareRanks();
    if (m_file.refusedTexts() > 0) {
      warn(std::nullopt, "texts_refused", m_file.refusedTexts(),
           "The traces hold more than 512 MiB of different names; the later ones are stored as '?'.");
    }
    writeMeta();
    if (const Status done = completeTrace(m_file, shifts()); !done.ok()) {
      return Error{fmt::format("Cannot complete the trace file {}: {}.", m_options.output, done.error().message)};
    }
    if (const Status published = m_file.publish(); !published.ok()) return published.error();
    return std::move(m_result);
  }

 private:
  void warn(std::optional<int64_t> process, std::string_view code, uint64_t count, const std::string& message) {
    writeDiagnostic(m_file, process, "warning", code, count, message);
    m_result.warnings.push_back(message);
  }

  [[nodiscard]] Status readFile(size_t index) {
    Source source;
    source.path = m_options.files[index];
    source.name = std::filesystem::path(source.path).filename().string();
    auto opened = ByteSource::open(source.path);
    if (!opened.ok()) return opened.error();
    EventScanner scanner(std::move(opened).value());
    const std::string_view head = scanner.peek(kSniffBytes);
    if (const auto reason = whyNot(source.path, head)) return Error{*reason};
    ChromeRows rows(m_file, looksLikeTorch(head));
    const FileFacts facts = readEvents(scanner, rows, source);
    if (m_file.rows().failed()) {
      return Error{fmt::format("Cannot write the trace file {}: {}.", m_options.output, m_file.rows().failure())};
    }
    if (rows.eventCount() == 0) return Error{nothingIn(source.path, scanner)};

    source.rank = !m_options.ranks.empty() ? std::optional(m_options.ranks[index]) : facts.rank;
    if (!source.rank) source.rank = rankInName(source.name);
    source.worldSize = facts.worldSize;
    rows.finish({source.rank, source.worldSize, source.name, facts.deviceProperties});
    source.processes = rows.processes();
    source.originNs = rows.originNs() + facts.baseNs;
    source.firstNs = rows.firstNs() + facts.baseNs;
    const std::optional<int64_t> process =
        source.processes.empty() ? std::nullopt : std::optional(source.processes.front());
    noteDamage(scanner, source, process);
    rows.tally().write(m_file, process, source.name);
    m_result.events += rows.eventCount() + rows.tally().of(Reason::DamagedEvent);
    m_result.notStored += rows.tally().notStored();
    m_result.damaged += rows.tally().of(Reason::DamagedEvent);
    m_sources.push_back(std::move(source));
    return Unit{};
  }

  FileFacts readEvents(EventScanner& scanner, ChromeRows& rows, const Source& source) {
    constexpr uint64_t kProgressEvery = 4096;
    FileFacts facts;
    for (uint64_t items = 1;; ++items) {
      const ScannedItem item = scanner.next();
      if (item.kind == ScannedItem::Kind::End) break;
      if (item.kind == ScannedItem::Kind::Member) {
        takeMember(item, facts);
      } else if (rows.take(item.text, item.offset)) {
        scanner.accept();
      } else if (const uint64_t offset = item.offset; scanner.reject()) {
        rows.tally().count(Reason::DamagedEvent, offset);
      }
      if (items % kProgressEvery == 0 && m_options.progress) {
        m_options.progress(source.name, scanner.source().readSoFar(), scanner.source().size());
      }
      if (m_file.rows().failed()) break;
    }
    return facts;
  }

  [[nodiscard]] static std::string nothingIn(const std::string& path, const EventScanner& scanner) {
    const auto& problem = scanner.source().problem();
    if (problem) return fmt::format("{} holds no trace event that can be read: {}.", path, *problem);
    if (!scanner.hasEventArray()) {
      return fmt::format(
          "{} is JSON, but no trace: it has no array 'traceEvents'. Name a torch.profiler or Chrome trace.", path);
    }
    return fmt::format("{} holds no trace event; there is nothing to import.", path);
  }

  void noteDamage(const EventScanner& scanner, const Source& source, std::optional<int64_t> process) {
    const auto& problem = scanner.source().problem();
    if (!problem && !scanner.isCut()) return;
    const std::string what = problem ? *problem : "its JSON ends early or is damaged behind the events";
    const std::string message = fmt::format("{} is not complete: {}; everything up to byte {} of its JSON is here.",
                                            source.name, what, scanner.offset());
    writeDiagnostic(m_file, process, "error", "cut", 1, message);
    m_result.warnings.push_back(message);
  }

  // Ranks that came twice, or not at all.
  void compareRanks() {
    std::map<int64_t, int64_t> files;
    int64_t worldSize = 0;
    for (const Source& source : m_sources) {
      if (source.rank) ++files[*source.rank];
      worldSize = std::max(worldSize, source.worldSize.value_or(0));
    }
    for (const auto& [rank, count] : files) {
      if (count < 2) continue;
      warn(std::nullopt, "rank_repeated", static_cast<uint64_t>(count),
           fmt::format("{} files are of rank {}; name the right ranks with --rank, one per file.", count, rank));
    }
    const auto present = static_cast<int64_t>(files.size());
    if (present > 0 && worldSize > present) {
      warn(std::nullopt, "rank_missing", static_cast<uint64_t>(worldSize - present),
           fmt::format("{} of the run's {} ranks are here; what is said of all ranks is said of these.", present,
                       worldSize));
    }
  }

  [[nodiscard]] int64_t firstOfAll() const {
    int64_t first = m_sources.front().firstNs;
    for (const Source& source : m_sources) first = std::min(first, source.firstNs);
    return first;
  }

  [[nodiscard]] std::vector<ProcessShift> shifts() const {
    std::vector<ProcessShift> result;
    for (const Source& source : m_sources) {
      for (const int64_t process : source.processes) result.push_back({process, source.originNs - firstOfAll()});
    }
    return result;
  }

  void writeMeta() {
    std::string names;
    for (const Source& source : m_sources) names += (names.empty() ? "" : " ") + source.name;
    m_file.writeMeta("schema_version", std::to_string(schema::kVersion));
    m_file.writeMeta("session_start_realtime_ns", std::to_string(firstOfAll()));
    m_file.writeMeta("session_start_monotonic_ns", "0");
    m_file.writeMeta("host", "");
    m_file.writeMeta("command", "plumb import " + names);
    m_file.writeMeta("recorder_version", m_options.version);
    m_file.writeMeta("plumb_version", m_options.version);
    m_file.writeMeta("imported_from", names);
    m_file.writeMeta("complete", "1");
  }

  const ImportOptions& m_options;
  TraceFile m_file;
  std::vector<Source> m_sources;
  ImportResult m_result;
};

}  // namespace

Result<ImportResult> importTraces(const ImportOptions& options) {
  if (options.files.empty()) return Error{"Name at least one trace to import."};
  if (!options.ranks.empty() && options.ranks.size() != options.files.size()) {
    return Error{fmt::format("--rank names {} ranks for {} files; name one per file, in the same order.",
                             options.ranks.size(), options.files.size())};
  }
  auto file = TraceFile::create(options.output);
  if (!file.ok()) return file.error();
  if (options.writesTo) options.writesTo(file.value().temporaryPath());
  return Import(options, std::move(file).value()).run();
}

}  // namespace plumb::import
