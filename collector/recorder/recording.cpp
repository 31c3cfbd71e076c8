// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/recording.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "collector/api/time.h"
#include "collector/schema/schema.h"

namespace plumb::recorder {

namespace {

constexpr size_t kBufferBytes = 1u << 20;
constexpr size_t kMaxRefusals = 100;

uint64_t eventCount(const Writer& writer) {
  return writer.idCount<KernelRow>() + writer.idCount<MemoryCopyRow>() + writer.idCount<MemorySetRow>() +
         writer.idCount<ApiCallRow>() + writer.idCount<SynchronizationRow>() + writer.idCount<RangeRow>() +
         writer.idCount<CollectiveRow>() + writer.idCount<LibraryCallRow>() + writer.idCount<AllocationRow>();
}

std::string hostName() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

Result<std::unique_ptr<Recording>> Recording::start(TraceFile file, std::string command, Roofs roofs) {
  auto writer = Writer::create(std::move(file.database));
  if (!writer.ok()) return writer.error();
  std::unique_ptr<Recording> recording(
      new Recording(std::move(file), std::move(writer).value(), std::move(command), std::move(roofs)));
  recording->m_writer.commit();
  return recording;
}

Recording::Recording(TraceFile file, Writer writer, std::string command, Roofs roofs)
    : m_lock(std::move(file.lock)),
      m_path(std::move(file.path)),
      m_writer(std::move(writer)),
      m_command(std::move(command)),
      m_roofs(std::move(roofs)),
      m_strings(m_writer),
      m_session{m_writer, m_strings, m_roofs, {}, monotonicNowNs(), realtimeNowNs()},
      m_buffer(kBufferBytes) {
  auto categories = m_writer.database().prepare("SELECT name FROM memory_category");
  if (categories.ok()) {
    while (categories.value().next()) m_session.memoryCategories.insert(categories.value().text(0));
  }
  writeMeta("schema_version", std::to_string(schema::kVersion));
  writeMeta("recorder_version", PLUMB_VERSION);
  writeMeta("plumb_version", PLUMB_VERSION);
  writeMeta("host", hostName());
  writeMeta("complete", "0");
}

void Recording::writeMeta(const std::string& key, const std::string& value) {
  m_writer.replace(MetaRow{.key = key, .value = value});
}

void Recording::beginSession() {
  if (m_begun) return;
  m_begun = true;
  int64_t earliest = m_session.startMonotonicNs;
  for (const Newcomer& newcomer : m_newcomers) earliest = std::min(earliest, newcomer.hello.fixed.monotonic_ns);
  // A clock that is hours behind is not this machine's since its start; keep ours.
  constexpr int64_t kMostNs = 60 * kNanosecondsPerSecond;
  if (m_session.startMonotonicNs - earliest < kMostNs) {
    m_session.startRealtimeNs -= m_session.startMonotonicNs - earliest;
    m_session.startMonotonicNs = earliest;
  }
  if (m_command.empty() && !m_newcomers.empty()) m_command = m_newcomers.front().hello.command;
  writeMeta("command", m_command);
  writeMeta("session_start_monotonic_ns", std::to_string(m_session.startMonotonicNs));
  writeMeta("session_start_realtime_ns", std::to_string(m_session.startRealtimeNs));
}

void Recording::add(int64_t feedId, const transport::Hello& hello, int segmentFd) {
  m_newcomers.push_back({feedId, hello, segmentFd});
}

void Recording::admitNewcomers() {
  if (m_newcomers.empty()) return;
  beginSession();
  for (Newcomer& newcomer : m_newcomers) {
    auto segment = transport::SegmentConsumer::open(newcomer.segmentFd);
    if (!segment.ok()) {
      noteRefused(fmt::format("{} (pid {}) could not be recorded: {}", newcomer.hello.program, newcomer.hello.fixed.pid,
                              segment.error().message));
      continue;
    }
    m_feeds.try_emplace(newcomer.feedId, m_session, newcomer.hello, std::move(segment).value());
    ++m_outcome.processes;
  }
  m_newcomers.clear();
}

void Recording::noteGoodbye(int64_t feedId) {
  admitNewcomers();
  if (const auto feed = m_feeds.find(feedId); feed != m_feeds.end()) feed->second.noteGoodbye();
}

void Recording::remove(int64_t feedId) {
  admitNewcomers();
  const auto feed = m_feeds.find(feedId);
  if (feed == m_feeds.end()) return;
  close(feed->second, true);
  m_feeds.erase(feed);
}

void Recording::close(ProcessFeed& feed, bool isGone) {
  feed.finish(m_buffer, monotonicNowNs(), isGone);
  m_outcome.dropped += feed.lostCount();
}

void Recording::noteRefused(const std::string& why) {
  if (m_refusals.size() < kMaxRefusals) m_refusals.push_back(why);
}

ProcessFeed::Progress Recording::drain() {
  admitNewcomers();
  ProcessFeed::Progress sum;
  const int64_t nowNs = monotonicNowNs();
  for (auto& [id, feed] : m_feeds) {
    const ProcessFeed::Progress progress = feed.drain(m_buffer, nowNs);
    sum.bytes += progress.bytes;
    sum.more |= progress.more;
    m_writer.commitIfDue(monotonicNowNs());
  }
  m_writer.commitIfDue(monotonicNowNs());  // of processes that are gone
  return sum;
}

std::string Recording::failureText() const {
  return fmt::format(
      "The trace file {} could not be written to the end ({}): {} rows are missing; free space or name "
      "another place with -o.",
      m_path, m_writer.failure(), m_writer.lostCount());
}

Recording::Outcome Recording::finish() {
  admitNewcomers();
  beginSession();
  for (auto& [id, feed] : m_feeds) close(feed, false);
  m_feeds.clear();
  const int64_t nowNs = monotonicNowNs() - m_session.startMonotonicNs;
  for (const std::string& refusal : m_refusals) {
    writeDiagnostic(m_writer, 0, nowNs, "error", "connection_refused", 1, refusal);
  }
  if (m_outcome.processes == 0) {
    writeDiagnostic(m_writer, 0, nowNs, "warning", "nothing_recorded", 1,
                    "No process was recorded: the command used no GPU, NVTX or NCCL, or could not load libplumb.so.");
  }
  if (m_strings.refusedCount() != 0) {
    writeDiagnostic(m_writer, 0, nowNs, "warning", "too_many_texts", m_strings.refusedCount(),
                    fmt::format("{} names are shown as '?', because the run made too many different ones; leave "
                                "counters out of range names.",
                                m_strings.refusedCount()));
  }
  if (m_writer.lostCount() != 0 && !m_writer.failed()) {
    writeDiagnostic(m_writer, 0, nowNs, "error", "row_rejected", m_writer.lostCount(),
                    fmt::format("{} events were refused by the database and left out.", m_writer.lostCount()));
  }
  m_writer.commit();
  m_outcome.events = eventCount(m_writer);
  m_outcome.dropped += m_writer.lostCount();

  const bool failed = m_writer.failed();
  if (failed) m_outcome.failure = failureText();
  Database database = std::move(m_writer).release();
  if (failed) {  // perhaps there is room for one row
    auto row = database.prepare(
        "INSERT INTO diagnostic(process_id, start_ns, severity, lane, code, count, message) "
        "VALUES(NULL, ?, 'error', 'recorder', 'write_failed', ?, ?)");
    if (row.ok()) {
      row.value().bind(nowNs);
      row.value().bind(static_cast<int64_t>(m_writer.lostCount()));
      row.value().bind(std::string_view(m_outcome.failure));
      (void)row.value().run();
    }
  }
  const Status finished = finishTraceFile(database, !failed);
  if (!finished.ok() && m_outcome.failure.empty()) {
    m_outcome.failure = fmt::format("The trace file {} could not be completed: {}.", m_path, finished.error().message);
  }
  const std::string diagnostics = database.queryText("SELECT count(*) FROM diagnostic WHERE severity <> 'info'");
  m_outcome.diagnostics = diagnostics.empty() ? 0 : static_cast<uint32_t>(std::stoul(diagnostics));
  m_outcome.lanesOff = database.queryText(
      "SELECT group_concat(message, char(10)) FROM (SELECT replace(message, char(10), ' ') AS message FROM diagnostic"
      " WHERE code IN ('plugin_failed', 'no_plugins', 'lane_off') AND severity <> 'info'"
      " GROUP BY message ORDER BY min(id) LIMIT 8)");
  return m_outcome;
}

}  // namespace plumb::recorder
