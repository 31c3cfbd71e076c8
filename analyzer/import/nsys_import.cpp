// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "analyzer/import/nsys_context.h"
#include "analyzer/import/nsys_nvtx.h"
#include "analyzer/import/tally.h"
#include "collector/schema/schema.h"

namespace plumb::import {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr size_t kApplicationIdOffset = 68;

bool isOwnTrace(std::string_view head) {
  if (head.size() < kApplicationIdOffset + 4) return false;
  uint32_t id = 0;
  for (size_t i = 0; i < 4; ++i) id = id << 8 | static_cast<unsigned char>(head[kApplicationIdOffset + i]);
  return id == static_cast<uint32_t>(schema::kApplicationId);
}

constexpr std::string_view kOldMetaData = "EXPORT_META_DATA";  // schemas 2.x

// Tables that describe, or whose rows only give numbers their names.
bool isDescription(std::string_view table) {
  return table.starts_with("ENUM_") || table.starts_with("sqlite_") || table == "META_DATA_EXPORT" ||
         table == kOldMetaData || table == "UnwindMethodType" || table == "META_DATA_CAPTURE" ||
         table == "TARGET_INFO_SESSION_START_TIME" || table == "ANALYSIS_DETAILS" ||
         table == "NVTX_EVENTS_PAYLOAD_SCHEMAS" || table == "NVTX_PAYLOAD_SCHEMA_RELATIONS";
}

// Why a table is left out although it is understood; null: the trace format has nothing for it.
const char* reasonFor(std::string_view table) {
  if (table == "TARGET_INFO_SYSTEM_ENV")
    return "it describes the machine and its environment, which traces do not pass on";
  if (table == "ANALYSIS_FILE" || table == "ProcessStreams")
    return "it holds files and outputs of the programs, no events";
  return nullptr;
}

std::optional<int64_t> numberIn(std::string_view text) {
  int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && at == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

class Export {
 public:
  Export(SourceContext& context, NsysSource source)
      : m_context(context),
        m_source(std::move(source)),
        m_names(m_source, context.file),
        m_registry(m_source, context.file, m_names),
        m_shared{m_source, context.file, m_names, m_registry, m_tally, 0, {}, {}} {}

  [[nodiscard]] Result<SourceResult> read() {
    prepareProgress();
    importGpuWork(m_shared);
    std::vector<NcclCall> calls = importNvtx(m_shared);
    importHost(m_shared);
    importSynchronization(m_shared);
    importMemory(m_shared);
    const auto lacking = importCollectives(m_shared, std::move(calls));
    importCounters(m_shared);
    if (m_shared.events == 0) return Error{nothingIn()};
    if (lacking) warn("warning", "collectives_without_payload", 1, *lacking);
    finish();
    return std::move(m_result);
  }

 private:
  void prepareProgress() {
    if (!m_context.progressOf) return;
    uint64_t rows = 0;
    for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
                              "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "NVTX_EVENTS",
                              "OSRT_API", "GPU_METRICS", "CUDA_GPU_MEMORY_USAGE_EVENTS"}) {
      rows += static_cast<uint64_t>(m_source.estimatedRows(table));
    }
    m_shared.advance = [this, rows, done = uint64_t{0}](uint64_t count) mutable {
      done += count;
      m_context.progressOf(std::min(done, rows), rows);
    };
  }

  [[nodiscard]] std::string nothingIn() const {
    if (m_source.isDamaged()) {
      return fmt::format("{} is damaged, and no event of it can be read: export the report again with nsys export.",
                         m_context.path);
    }
    return fmt::format(
        "{} is an export of Nsight Systems without any event that a trace can hold (CUDA, NVTX or OS runtime): record "
        "with nsys profile --trace=cuda,nvtx,osrt.",
        m_context.path);
  }

  void finish() {
    m_result.rank = m_context.rank ? m_context.rank : rankInName(m_context.name);
    m_result.firstNs = 0;
    const bool wasUsed = m_registry.write(m_result.rank, m_context.name);
    m_process = m_registry.processes().empty() ? std::nullopt : std::optional(m_registry.processes().front());
    if (m_result.rank && !wasUsed) {
      warn("warning", "rank_not_used", 1,
           fmt::format("{} holds {} processes with GPU work, so rank {} is not given to any of them.", m_context.name,
                       m_registry.gpuProcesses().size(), *m_result.rank));
      m_result.rank.reset();
    }
    importMessages(m_shared);
    if (m_names.missing() > 0) m_tally.count(NsysReason::MissingText, m_names.missing());
    findOrigin();
    noteDamage();
    noteLeftOut();
    m_tally.write(m_context.file, m_process, m_context.name);
    m_result.processes = m_registry.processes();
    m_result.events += m_shared.events;
    m_result.notStored += m_tally.notStored();
    m_result.damaged += m_tally.of(NsysReason::NoTime) + m_tally.of(NsysReason::BadDuration);
  }

  // Times count from the start of the session, unless the export moved them.
  void findOrigin() {
    std::optional<int64_t> start;
    m_source.forEach("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [&](const NsysRow& row) {
      if (!start) start = row.integer(0);
    });
    bool isNormalized = false;
    int64_t shift = 0;
    for (const std::string_view table : {std::string_view("META_DATA_EXPORT"), kOldMetaData}) {
      m_source.forEach(table, {"name", "value"}, [&](const NsysRow& row) {
        if (row.text(0) == "EXPORT_PARAM_TIME_NORMALIZE") isNormalized = row.text(1) == "true" || row.text(1) == "1";
        if (row.text(0) == "EXPORT_PARAM_TIME_SHIFT") shift = numberIn(row.text(1)).value_or(0);
      });
    }
    constexpr int64_t kLatest = int64_t{1} << 61;
    if (!start || *start < 0 || *start > kLatest) start = 0;
    if (shift > kLatest / 2 || shift < -kLatest / 2) shift = 0;
    m_result.originNs = (isNormalized ? 0 : *start) - shift;
    // The session's own clock is kept, so that a time here is the time that Nsight Systems shows.
    const int64_t first = m_registry.firstNs().value_or(0);
    m_result.firstNs = m_result.originNs + (isNormalized || shift != 0 ? first : std::min<int64_t>(first, 0));
  }

  void noteDamage() {
    for (const NsysDamage& damage : m_source.damage()) {
      std::string rest = damage.lostRows > 0 ? fmt::format("at most {} {} lost", damage.lostRows,
                                                           damage.isEndLost ? "between them are" : "of its rows are")
                                             : "";
      if (damage.isEndLost) rest += rest.empty() ? "what follows in it is lost" : ", and what follows them";
      if (rest.empty()) rest = "how many are lost is not known";
      warn("error", "table_damaged", static_cast<uint64_t>(std::max<int64_t>(damage.lostRows, 1)),
           fmt::format("Table {} of {} is damaged: {} rows could be read, {}.", damage.table, m_context.name,
                       damage.readRows, rest));
      m_result.events += static_cast<uint64_t>(damage.lostRows);
      m_result.notStored += static_cast<uint64_t>(damage.lostRows);
      m_result.damaged += static_cast<uint64_t>(damage.lostRows);
    }
    if (!m_source.isDamaged()) return;
    warn("error", "cut", 1,
         fmt::format("{} is not a whole SQLite database, it may have been cut short; what can be read of it is here.",
                     m_context.name));
  }

  // Nothing is dropped silently: every table that was not read, by name.
  void noteLeftOut() {
    for (const std::string& table : m_source.tables()) {
      if (m_source.wasRead(table) || isDescription(table)) continue;
      const auto rows = static_cast<uint64_t>(m_source.countRows(table));
      if (rows == 0) continue;
      const char* reason = reasonFor(table);
      writeDiagnostic(m_context.file, m_process, "info", "table_not_stored", rows,
                      fmt::format("The {} rows of table {} of {} are not stored: {}.", rows, table, m_context.name,
                                  reason != nullptr ? reason : "the trace format has no table for them"));
      if (reason != nullptr) continue;
      m_result.events += rows;
      m_result.notStored += rows;
    }
  }

  void warn(const char* severity, const char* code, uint64_t count, const std::string& message) {
    writeDiagnostic(m_context.file, m_process, severity, code, count, message);
    m_result.warnings.push_back(message);
  }

  SourceContext& m_context;
  NsysSource m_source;
  NsysNames m_names;
  NsysRegistry m_registry;
  NsysTally m_tally;
  NsysContext m_shared;
  std::optional<int64_t> m_process;  // that messages about the whole file are given to
  SourceResult m_result;
};

bool isPlainDatabase(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kMagic.size(), '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return file.gcount() == static_cast<std::streamsize>(kMagic.size()) && head == kMagic;
}

}  // namespace

bool looksLikeDatabase(std::string_view head, const std::string&) {
  return head.starts_with(kMagic.substr(0, 15)) && !isOwnTrace(head);
}

Result<SourceResult> readNsysExport(SourceContext& context) {
  if (std::error_code failed; !std::filesystem::is_regular_file(context.path, failed)) {
    return Error{fmt::format(
        "{} is an SQLite database that comes through a pipe; it needs a file that can be read at any place: save it as "
        "one first.",
        context.path)};
  }
  if (!isPlainDatabase(context.path)) {
    return Error{fmt::format("{} is a compressed SQLite database: decompress it first.", context.path)};
  }
  auto source = NsysSource::open(context.path);
  if (!source.ok()) return source.error();
  if (!source.value().isNsys()) {
    return Error{fmt::format(
        "{} is an SQLite database, but no export of Nsight Systems: make one with nsys export --type sqlite.",
        context.path)};
  }
  return Export(context, std::move(source).value()).read();
}

}  // namespace plumb::import
