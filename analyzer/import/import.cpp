// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyzer/import/chrome_import.h"
#include "analyzer/import/completion.h"
#include "analyzer/import/flight_recorder.h"
#include "analyzer/import/importer.h"
#include "analyzer/import/memory_timeline.h"
#include "analyzer/import/nccl_inspector.h"
#include "analyzer/import/nccl_tests.h"
#include "analyzer/import/nsys_import.h"
#include "analyzer/import/pickle_import.h"
#include "analyzer/import/source_files.h"
#include "analyzer/import/tally.h"
#include "analyzer/import/trace_file.h"
#include "collector/schema/schema.h"

namespace plumb::import {
namespace {

constexpr size_t kSniffBytes = 1u << 20;

// The first that recognizes a file reads it, so the general ones come last.
constexpr Importer kImporters[] = {
    {"pickle", looksLikePickledTrace, readPickledTrace},
    {"nsys", looksLikeDatabase, readNsysExport},
    {"nccl-tests", looksLikeNcclTests, readNcclTests},
    {kFlightRecorder, looksLikeFlightRecorderJson, readFlightRecorderJson},
    {"inspector", looksLikeInspector, readInspector},
    {"nccl-profiler", looksLikeNcclProfiler, readNcclProfiler},
    {"memory-timeline", looksLikeMemoryTimeline, readMemoryTimeline},
    {"chrome", looksLikeJson, readChromeTrace},
};

constexpr std::string_view kWhatCanBe =
    "name a torch.profiler or Chrome trace (JSON, .gz or .zst), an SQLite export of Nsight Systems, a memory snapshot "
    "or "
    "raw memory timeline of PyTorch, a flight-recorder dump, output of nccl-tests or of NCCL Inspector";

bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string whyNot(const std::string& path, std::string_view head, const std::optional<std::string>& problem) {
  if (head.empty() && problem) {
    return fmt::format("{} cannot be read, for {}; there is nothing to import.", path, *problem);
  }
  if (head.empty()) return fmt::format("{} is empty; there is nothing to import.", path);
  if (head.substr(0, 2) == "\xff\xfe" || head.substr(0, 2) == "\xfe\xff") {
    return fmt::format("{} is text in UTF-16; convert it first: iconv -f UTF-16 -t UTF-8.", path);
  }
  if (head.substr(0, 15) == "SQLite format 3") {
    return fmt::format("{} is a trace of Plumbline already: it needs no import.", path);
  }
  if (endsWith(path, ".nsys-rep") || endsWith(path, ".qdrep")) {
    return fmt::format(
        "{} is a report in Nsight Systems' own format: run nsys export --type sqlite --include-blobs=true {} and "
        "import "
        "the .sqlite file that it writes.",
        path, path);
  }
  return fmt::format("{} is no trace that can be imported: {}.", path, kWhatCanBe);
}

// "a, b and c", of many the first ones.
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 5;
  const size_t shown = names.size() > kMost ? kMost : names.size() - 1;
  const std::string last = names.size() > kMost ? fmt::format("{} more files", names.size() - kMost) : names.back();
  return fmt::format("{} and {}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     last);
}

struct Source {
  const Importer* importer = nullptr;
  std::string name;
  SourceResult result;
};

// A file that holds nothing to import.
struct LeftOut {
  Error error;          // when there is no other
  std::string warning;  // when there is
};

class Import {
 public:
  Import(const ImportOptions& options, TraceFile file) : m_options(options), m_file(std::move(file)) {}

  [[nodiscard]] Result<ImportResult> run() {
    for (size_t i = 0; i < m_options.files.size(); ++i) {
      const size_t before = m_sources.size();
      if (const Status read = readFile(i); !read.ok()) return read.error();
      if (m_sources.size() == before) m_notRead.insert(i);
    }
    if (m_sources.empty()) return m_leftOut.front().error;
    for (const LeftOut& file : m_leftOut) {
      warn(std::nullopt, "file_left_out", 1, file.warning);
      ++m_result.filesLeftOut;
    }
    compareRanks();
    compareFiles();
    alignClocks();
    if (m_file.refusedTexts() > 0) {
      warn(std::nullopt, "texts_refused", m_file.refusedTexts(),
           "The traces hold more than 512 MiB of different names; the later ones are stored as '?'.");
    }
    if (m_file.cutTexts() > 0) {
      warn(std::nullopt, "texts_cut", m_file.cutTexts(),
           fmt::format("Names and arguments of more than 4 MiB are cut there: {} times.", m_file.cutTexts()));
    }
    if (m_file.mendedTexts() > 0) {
      const bool isOne = m_file.mendedTexts() == 1;
      warn(std::nullopt, "not_utf8", m_file.mendedTexts(),
           fmt::format("{} {} zero bytes or bytes that are not UTF-8; these are stored as '?'.", m_file.mendedTexts(),
                       isOne ? "text holds" : "texts hold"));
    }
    writeMeta();
    const auto repeated = completeTrace(m_file, shifts());
    if (!repeated.ok()) {
      return failedToWrite(
          {fmt::format("Cannot complete the trace file {}: {}.", m_options.output, repeated.error().message)});
    }
    m_result.notStored += repeated.value();
    if (m_options.sizes) m_result.sizes = m_file.sizes();
    CompressProgress compressing;
    if (m_options.progress) {
      compressing = [&](uint64_t done, uint64_t all) {
        m_options.progress("compressing " + m_options.output, done, all);
      };
    }
    if (const Status published = m_file.publish(compressing); !published.ok()) return failedToWrite(published.error());
    return std::move(m_result);
  }

 private:
  [[nodiscard]] Error failedToWrite(Error error) const {
    if (m_options.writeFailed) *m_options.writeFailed = true;
    return error;
  }
  void warn(std::optional<int64_t> process, std::string_view code, uint64_t count, const std::string& message) {
    writeDiagnostic(m_file, process, "warning", code, count, message);
    m_result.warnings.push_back(message);
  }

  [[nodiscard]] Status readFile(size_t index) {
    const std::string& path = m_options.files[index];
    if (std::error_code failed; std::filesystem::is_directory(path, failed)) {
      return leaveOut(Error{fmt::format("{} is a folder; name the trace files in it.", path)},
                      fmt::format("{} is a folder: it is left out.", path));
    }
    auto opened = ByteSource::open(path);
    if (!opened.ok()) return opened.error();
    SourceContext context{
        m_file, std::move(opened).value(), path, std::filesystem::path(path).filename().string(), std::nullopt, {}};
    if (!m_options.ranks.empty()) context.rank = m_options.ranks[index];
    if (m_options.progress) {
      context.progress = [this, name = context.name](const ByteSource& source) {
        m_options.progress(name, source.readSoFar(), source.size());
      };
      context.progressOf = [this, name = context.name](uint64_t done, uint64_t all) {
        m_options.progress(name, done, all);
      };
    }
    const std::string_view head = context.source.peek(kSniffBytes);
    const auto* importer = std::find_if(std::begin(kImporters), std::end(kImporters),
                                        [&](const Importer& one) { return one.recognizes(head, path); });
    if (head.empty() || importer == std::end(kImporters)) {
      const std::string why = whyNot(path, head, context.source.problem());
      return leaveOut(Error{why}, why.find(kWhatCanBe) != std::string::npos
                                      ? fmt::format("{} is no trace that can be imported: it is left out.", path)
                                      : fmt::format("{} It is left out.", why));
    }
    if (const std::string* same = sameBefore(path, head)) {
      return leaveOut(Error{fmt::format("{} holds the same trace as {}.", path, *same)},
                      fmt::format("{} holds the same trace as {}: it is left out (--rank, one per file, says that they "
                                  "are two ranks).",
                                  path, *same));
    }
    const uint64_t rowsBefore = m_file.rows().rowCount();
    auto read = importer->read(context);
    if (m_file.rows().failed()) {
      return failedToWrite(
          {fmt::format("Cannot write the trace file {}: {}.", m_options.output, m_file.rows().failure())});
    }
    if (!read.ok()) {
      const bool isUntouched = m_file.rows().rowCount() == rowsBefore;
      return isUntouched ? leaveOut(read.error(), fmt::format("{} It is left out.", read.error().message))
                         : Status(read.error());
    }
    const SourceResult& result = read.value();
    m_result.events += result.events;
    m_result.notStored += result.notStored;
    m_result.damaged += result.damaged;
    m_result.warnings.insert(m_result.warnings.end(), result.warnings.begin(), result.warnings.end());
    m_sources.push_back({importer, context.name, std::move(read).value()});
    return Unit{};
  }

  [[nodiscard]] Status leaveOut(Error error, std::string warning) {
    m_leftOut.push_back({std::move(error), std::move(warning)});
    return Unit{};
  }

  // Whether two equal files are of two ranks by their names, which say nothing when the trace itself tells its rank.
  [[nodiscard]] static bool areTwoRanks(const std::string& path, const std::string& other, std::string_view head) {
    const auto rank = rankInName(path), otherRank = rankInName(other);
    return rank && otherRank && *rank != *otherRank && head.find("\"distributedInfo\"") == std::string_view::npos;
  }

  // The file before this one that holds the same, unless the user or their names say that they are two ranks.
  [[nodiscard]] const std::string* sameBefore(const std::string& path, std::string_view head) {
    if (!m_options.ranks.empty()) return nullptr;
    std::vector<const std::string*>& alike = m_byHead[std::hash<std::string_view>()(head)];
    for (const std::string* other : alike) {
      if (areTwoRanks(path, *other, head)) continue;
      if (holdSameData(*other, path)) return other;
    }
    alike.push_back(&path);
    return nullptr;
  }

  // Ranks that came twice, or not at all.
  void compareRanks() {
    std::map<std::pair<std::string_view, int64_t>, std::vector<std::string>> files;
    std::map<std::string_view, int64_t> ranks;  // of each kind
    std::map<std::string_view, int64_t> worldSizes;
    for (const Source& source : m_sources) {
      const std::string_view kind = source.result.kind.empty() ? source.importer->kind : source.result.kind;
      std::vector<int64_t> held = source.result.ranks;
      if (source.result.rank) held.push_back(*source.result.rank);
      for (const int64_t rank : held) {
        std::vector<std::string>& names = files[{kind, rank}];
        names.push_back(source.name);
        if (names.size() == 1) ++ranks[kind];
      }
      worldSizes[kind] = std::max(worldSizes[kind], source.result.worldSize.value_or(0));
    }
    for (const auto& [key, names] : files) {
      if (names.size() < 2) continue;
      warn(std::nullopt, "rank_repeated", names.size(),
           fmt::format("{} are all of rank {}: right for a trace and that of its graphs' capture; else say which rank "
                       "each file is (--rank 0,1: one number per file, in their order).",
                       listed(names), key.second));
    }
    for (const auto& [kind, worldSize] : worldSizes) {
      const int64_t present = ranks[kind];
      if (present == 0 || worldSize <= present) continue;
      warn(std::nullopt, "rank_missing", static_cast<uint64_t>(worldSize - present),
           missingRanksText(present, worldSize));
    }
  }

  void compareFiles() {
    for (const auto& [later, first] : equalFiles(m_options.files)) {
      if (m_notRead.count(later) > 0) continue;
      warn(std::nullopt, "file_repeated", 1,
           fmt::format("{} and {} hold the same bytes: what they tell is in the trace twice.", m_options.files[first],
                       m_options.files[later]));
    }
  }

  // Times that begin with the machine or the recording cannot be compared with times since 1970.
  void alignClocks() {
    constexpr int64_t kEarliest = 978307200'000000000;  // 2001; no GPU was traced before
    const auto isRealtime = [](const SourceResult& one) { return one.firstNs >= kEarliest; };
    int64_t first = SourceResult::kNoTime;
    for (const Source& source : m_sources) {
      if (isRealtime(source.result)) first = std::min(first, source.result.firstNs);
    }
    if (first == SourceResult::kNoTime) return;
    for (Source& source : m_sources) {
      SourceResult& result = source.result;
      if (isRealtime(result)) continue;
      result.originNs += first - result.firstNs;
      result.firstNs = first;
      noteUnknownClock(source);
    }
  }

  void noteUnknownClock(const Source& source) {
    const std::string message = fmt::format(
        "{} does not say when its times begin (a trace that is cut has lost it), so its clock cannot be compared with "
        "those of the other files: its first event is put at theirs.",
        source.name);
    m_result.warnings.push_back(message);
    // A clock of its own, whatever its host: its offset is told by collectives, or is not known.
    const int64_t host = m_file.textId(fmt::format("{} (clock not known)", source.name));
    for (const int64_t process : source.result.processes) {
      writeDiagnostic(m_file, process, "warning", "clock_not_known", 1, message);
      (void)m_file.database().execute(fmt::format("UPDATE process SET host_id = {} WHERE id = {}", host, process));
    }
  }

  [[nodiscard]] int64_t firstOfAll() const {
    int64_t first = SourceResult::kNoTime;
    for (const Source& source : m_sources) first = std::min(first, source.result.firstNs);
    return first == SourceResult::kNoTime ? 0 : first;
  }

  [[nodiscard]] std::vector<ProcessShift> shifts() const {
    std::vector<ProcessShift> result;
    for (const Source& source : m_sources) {
      const bool isTimed = source.result.firstNs != SourceResult::kNoTime;
      for (const int64_t process : source.result.processes) {
        result.push_back({process, isTimed ? source.result.originNs - firstOfAll() : 0});
      }
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
  std::vector<LeftOut> m_leftOut;
  std::set<size_t> m_notRead;                                            // of the files, by their place
  std::unordered_map<size_t, std::vector<const std::string*>> m_byHead;  // paths by the hash of their first bytes
  ImportResult m_result;
};

}  // namespace

std::optional<int64_t> rankInName(const std::string& name) {
  static const std::regex kRank("rank[_-]?([0-9]{1,6})", std::regex::icase);
  // "worker.3.pt.trace.json"; a longer number in that place is a time.
  static const std::regex kNumber("\\.([0-9]{1,6})\\.pt\\.trace\\.json", std::regex::icase);
  std::smatch found;
  if (!std::regex_search(name, found, kRank) && !std::regex_search(name, found, kNumber)) return std::nullopt;
  return std::stoll(found[1].str());
}

std::optional<NamedWorker> workerInName(const std::string& name) {
  static const std::regex kName("(.{1,255})_([0-9]{1,10})\\.[0-9]{10,20}\\.pt\\.trace\\.json(\\.gz)?");
  std::smatch found;
  if (!std::regex_match(name, found, kName)) return std::nullopt;
  return NamedWorker{found[1].str(), found[2].str()};
}

std::string missingRanksText(int64_t present, int64_t worldSize) {
  return fmt::format("{} of the run's {} ranks {} here; what is said of all ranks is said of {}.", present, worldSize,
                     present == 1 ? "is" : "are", present == 1 ? "this one" : "these");
}

Result<ImportResult> importTraces(const ImportOptions& options) {
  if (const Status checked = checkOptions(options); !checked.ok()) return checked.error();
  if (const Status other = checkNotRead(options.output, options.files); !other.ok()) return other.error();
  auto file = TraceFile::create(options.output, options.replace);
  if (!file.ok()) {
    // Not "Cannot create", which is a place that cannot be.
    if (options.writeFailed) *options.writeFailed = file.error().message.starts_with("Cannot write");
    return file.error();
  }
  return Import(options, std::move(file).value()).run();
}

}  // namespace plumb::import
