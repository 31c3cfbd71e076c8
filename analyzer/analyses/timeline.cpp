// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/timeline.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/analyses/timeline_text.h"
#include "analyzer/trace/device_text.h"

namespace plumb::timeline {
namespace {

// "loader (4242)"; a name that has the number already stays as it is.
std::string nameWithNumber(std::string name, int64_t tid) {
  while (name.ends_with(' ')) name.pop_back();
  const std::string number = std::to_string(tid);
  return name.find(number) != std::string::npos ? name : name + " (" + number + ")";
}

class Loader {
 public:
  Loader(Trace& trace, const Progress& progress) : m_trace(trace), m_progress(progress) {}

  Result<Timeline> load() {
    addProcesses();
    for (const auto part :
         {&Loader::countRows, &Loader::loadCollectives, &Loader::loadKernels, &Loader::loadCopies, &Loader::loadSets,
          &Loader::loadApiCalls, &Loader::loadOsCalls, &Loader::loadRanges, &Loader::loadCalls, &Loader::loadSteps}) {
      if (const Status status = (this->*part)(); !status.ok()) return status.error();
    }
    closeOpenRanges();
    projectOntoDevice();
    moveThreadsWithoutLaunches();
    buildTracks();
    indexTimeline(m_timeline);
    return std::move(m_timeline);
  }

 private:
  // Tracks in the order in which they are shown below their process.
  using TrackKey = std::tuple<uint32_t, int, int64_t, TrackKind, int64_t>;  // process, group, order, kind, key
  enum Group { kSteps, kThreads, kProjections, kCollectives, kStreams, kOtherThreads };
  static constexpr int64_t kMainThread = -1;  // its order

  struct Draft {
    std::string label;
    std::vector<Slice> slices;
  };

  void addProcesses() {
    for (const plumb::Process& source : m_trace.processes()) {
      m_processIndex[source.id.value()] = static_cast<uint32_t>(m_timeline.processes.size());
      Process process;
      process.id = source.id.value();
      process.pid = source.pid;
      process.rank = source.rank;
      process.label = source.rank ? "rank " + std::to_string(*source.rank) + " · " : "";
      process.label += source.program;
      // 0: the file does not tell it; and importers may have made a name of it.
      const std::string pid = "pid " + std::to_string(source.pid);
      if (source.pid != 0 && !source.program.ends_with(pid)) process.label += " · " + pid;
      if (!source.host.empty()) process.label += " · " + source.host;
      if (source.ended == "lost") process.label += " · ended without a goodbye (killed?)";
      m_timeline.processes.push_back(std::move(process));
    }
    for (const Device& device : m_trace.devices()) {
      m_timeline.softwareDevice |= device.isSoftware;
      const std::string text = deviceText(device);
      if (std::find(m_timeline.devices.begin(), m_timeline.devices.end(), text) == m_timeline.devices.end()) {
        m_timeline.devices.push_back(text);
      }
      ++m_devicesOf[device.process.value()];
    }
    for (const Stream& stream : m_trace.streams()) m_streams[stream.id.value()] = &stream;
    for (const Thread& thread : m_trace.threads()) m_threads[thread.id.value()] = &thread;
  }

  Status countRows() {
    m_rows = 1;
    for (const char* sql :
         {"SELECT max(id) FROM kernel", "SELECT max(id) FROM memory_copy", "SELECT max(id) FROM memory_set",
          "SELECT max(id) FROM api_call", "SELECT max(id) FROM range", "SELECT max(id) FROM collective",
          "SELECT max(id) FROM os_call"}) {
      auto statement = m_trace.query(sql);
      if (!statement.ok()) return statement.error();
      if (statement.value().next()) m_rows += std::max<int64_t>(0, statement.value().integer(0));
      if (const Status status = statement.value().status(); !status.ok()) return status;
    }
    return Unit{};
  }

  template <class Row>
  Status forEach(const char* sql, Row row) {
    auto prepared = m_trace.query(sql);
    if (!prepared.ok()) return prepared.error();
    Statement& statement = prepared.value();
    while (statement.next()) {
      row(statement);
      if (++m_done % 8192 == 0 && m_progress &&
          !m_progress(std::min(1.0, static_cast<double>(m_done) / static_cast<double>(m_rows)))) {
        return Error{"Loading was cancelled."};
      }
    }
    return statement.status();
  }

  uint32_t intern(std::string_view text) {
    const auto [it, added] = m_nameIndex.try_emplace(std::string(text), static_cast<uint32_t>(m_timeline.names.size()));
    if (added) m_timeline.names.emplace_back(text);
    return it->second;
  }

  uint32_t nameOf(StringId id) {
    const auto [it, added] = m_nameOfString.try_emplace(id.value(), 0);
    if (added) it->second = intern(m_trace.text(id));
    return it->second;
  }

  // False (and counted) when the event cannot be drawn: no usable time, or a process that the file lacks.
  bool usable(int64_t process, int64_t start, int64_t duration, int64_t flags = 0) {
    if (m_processIndex.contains(process) && isUsableTime(start, duration) && !(flags & 1)) return true;
    ++m_timeline.untimedCount;
    return false;
  }

  std::vector<Slice>& streamTrack(int64_t process, int64_t streamId) {
    const auto found = m_streams.find(streamId);
    const int64_t order = found == m_streams.end() ? streamId : found->second->number;
    Draft& draft = m_drafts[{m_processIndex[process], kStreams, order, TrackKind::kStream, streamId}];
    if (draft.label.empty()) draft.label = streamLabel(process, streamId);
    return draft.slices;
  }

  std::string streamLabel(int64_t process, int64_t streamId) {
    const auto found = m_streams.find(streamId);
    if (found == m_streams.end()) return "stream (not described)";
    const Stream& stream = *found->second;
    const std::string number = "stream " + std::to_string(stream.number);
    std::string label = stream.name.empty() || stream.name == number ? number : number + " · " + stream.name;
    const Device* device = stream.device ? m_trace.device(*stream.device) : nullptr;
    if (device && m_devicesOf[process] > 1) label = "device " + std::to_string(device->ordinal) + " · " + label;
    return label;
  }

  std::vector<Slice>& threadTrack(int64_t process, int64_t threadId, TrackKind kind) {
    const uint32_t index = m_processIndex[process];
    const auto found = m_threads.find(threadId);
    const int64_t tid = found == m_threads.end() ? threadId : found->second->tid;
    const bool isMain = tid == m_timeline.processes[index].pid;
    Draft& draft = m_drafts[{index, kThreads, isMain ? kMainThread : tid, kind, threadId}];
    if (draft.label.empty()) {
      draft.label = isMain ? "main thread" : "thread " + std::to_string(tid);
      const bool isNamed = found != m_threads.end() && found->second->name.find_first_not_of(' ') != std::string::npos;
      if (!isMain && isNamed) draft.label = nameWithNumber(found->second->name, tid);
      draft.label += kind == TrackKind::kRanges    ? " · ranges"
                     : kind == TrackKind::kOsCalls ? " · operating system"
                                                   : " · CUDA API";
    }
    return draft.slices;
  }

  Status loadCollectives() {
    return forEach(
        "SELECT c.process_id, c.id, c.operation, c.bytes, c.datatype, c.element_count, c.n_ranks, c.algorithm, "
        "c.protocol, c.communicator, "
        "c.communicator_name, coalesce(c.device_start_ns, c.start_ns), coalesce(c.device_duration_ns, c.duration_ns), "
        "k.correlation, c.sequence "
        "FROM collectives c LEFT JOIN kernel k ON k.id = c.kernel_id",
        [this](const Statement& s) {
          const int64_t process = s.integer(0);
          if (!usable(process, s.integer(11), s.integer(12))) return;
          std::string note = std::string(s.text(2)) + " · " + bytesText(s.integer(3)) + " · " + std::string(s.text(4));
          if (!s.isNull(6)) note += " · " + std::to_string(s.integer(6)) + " ranks";
          if (!s.isNull(7)) note += " · " + std::string(s.text(7));
          if (!s.isNull(8)) note += "/" + std::string(s.text(8));
          if (s.isNull(13)) note += " · host time: no kernel is linked to it";
          Slice slice{s.integer(11),     s.integer(12), s.integer(1),          s.isNull(13) ? -1 : s.integer(13),
                      intern(s.text(2)), intern(note),  SliceKind::kCollective};
          if (!s.isNull(13)) m_collectiveNotes[{process, s.integer(13)}] = slice.note;
          Draft& draft = m_drafts[{m_processIndex[process], kCollectives, 0, TrackKind::kCollectives, s.integer(9)}];
          if (draft.label.empty()) {
            std::array<char, 32> hash{};
            std::snprintf(hash.data(), hash.size(), "%" PRIx64, static_cast<uint64_t>(s.integer(9)));
            draft.label = "collectives";
            if (!s.isNull(9))
              m_communicatorLabels[{m_processIndex[process], s.integer(9)}] =
                  s.text(10).empty() ? hash.data() : std::string(s.text(10));
          }
          draft.slices.push_back(slice);
        });
  }

  uint32_t launchNote(const Statement& s, int first) {
    std::array<int64_t, 6> shape{};
    for (int i = 0; i < 6; ++i) shape[static_cast<size_t>(i)] = s.integer(first + i);
    const auto [it, added] = m_launchNotes.try_emplace(shape, 0);
    if (added) {
      std::array<char, 200> text{};
      std::snprintf(text.data(), text.size(),
                    "grid %" PRId64 " × %" PRId64 " × %" PRId64 ", block %" PRId64 " × %" PRId64 " × %" PRId64,
                    shape[0], shape[1], shape[2], shape[3], shape[4], shape[5]);
      it->second = intern(text.data());
    }
    return it->second;
  }

  Status loadKernels() {
    auto classifier = CommunicationClassifier::load(m_trace);
    if (!classifier.ok()) return classifier.error();
    CommunicationClassifier& communication = classifier.value();
    return forEach(
        "SELECT process_id, stream_id, start_ns, duration_ns, id, correlation, short_name_id, grid_x, grid_y, grid_z, "
        "block_x, "
        "block_y, block_z, flags FROM kernel",
        [&](const Statement& s) {
          const int64_t process = s.integer(0);
          if (!usable(process, s.integer(2), s.integer(3), s.integer(13))) return;
          const auto nameId = s.id<StringId>(6);
          const bool communicates =
              communication.isCommunication(ProcessId(process), Correlation(s.integer(5)), nameId);
          m_timeline.communicationByName |=
              communicates && communication.source(ProcessId(process)) == CommunicationSource::Names;
          const auto note = m_collectiveNotes.find({process, s.integer(5)});
          streamTrack(process, s.integer(1))
              .push_back({s.integer(2), s.integer(3), s.integer(4), s.integer(5), nameOf(nameId),
                          communicates && note != m_collectiveNotes.end() ? note->second : launchNote(s, 7),
                          communicates ? SliceKind::kCommunication : SliceKind::kKernel});
        });
  }

  Status loadCopies() {
    return forEach(
        "SELECT process_id, stream_id, start_ns, duration_ns, id, correlation, name, bytes, source_kind, target_kind, "
        "flags FROM copies",
        [this](const Statement& s) {
          if (!usable(s.integer(0), s.integer(2), s.integer(3), s.integer(10))) return;
          const std::string note =
              bytesText(s.integer(7)) + ", " + std::string(s.text(8)) + " to " + std::string(s.text(9));
          streamTrack(s.integer(0), s.integer(1))
              .push_back({s.integer(2), s.integer(3), s.integer(4), s.integer(5), intern(s.text(6)), intern(note),
                          SliceKind::kCopy});
        });
  }

  Status loadSets() {
    return forEach("SELECT process_id, stream_id, start_ns, duration_ns, id, correlation, bytes, flags FROM memory_set",
                   [this](const Statement& s) {
                     if (!usable(s.integer(0), s.integer(2), s.integer(3), s.integer(7))) return;
                     streamTrack(s.integer(0), s.integer(1))
                         .push_back({s.integer(2), s.integer(3), s.integer(4), s.integer(5), intern("set"),
                                     intern(bytesText(s.integer(6))), SliceKind::kSet});
                   });
  }

  Status loadApiCalls() {
    return forEach(
        "SELECT process_id, thread_id, start_ns, duration_ns, id, correlation, name_id, result FROM api_call",
        [this](const Statement& s) {
          if (!usable(s.integer(0), s.integer(2), s.integer(3))) return;
          const uint32_t name = nameOf(s.id<StringId>(6));
          const bool waits = m_timeline.names[name].find("Synchronize") != std::string::npos;
          const uint32_t note = s.integer(7) == 0 ? 0 : intern("returned error " + std::to_string(s.integer(7)));
          threadTrack(s.integer(0), s.integer(1), TrackKind::kApiCalls)
              .push_back({s.integer(2), s.integer(3), s.integer(4), s.integer(5), name, note,
                          waits ? SliceKind::kSynchronization : SliceKind::kApiCall});
        });
  }

  Status loadOsCalls() {
    return forEach(
        "SELECT process_id, thread_id, start_ns, duration_ns, id, name_id FROM os_call", [this](const Statement& s) {
          if (!usable(s.integer(0), s.integer(2), s.integer(3))) return;
          threadTrack(s.integer(0), s.integer(1), TrackKind::kOsCalls)
              .push_back(
                  {s.integer(2), s.integer(3), s.integer(4), -1, nameOf(s.id<StringId>(5)), 0, SliceKind::kOsCall});
        });
  }

  Status loadRanges() {
    return forEach("SELECT process_id, thread_id, start_ns, duration_ns, id, name_id, domain_id FROM range",
                   [this](const Statement& s) {
                     const bool open = s.isNull(3);
                     if (!usable(s.integer(0), s.integer(2), open ? 0 : s.integer(3))) return;
                     uint32_t note =
                         s.integer(6) == 0 ? 0 : intern("domain " + std::string(m_trace.text(s.id<StringId>(6))));
                     if (open) note = intern("still open when the recording ended");
                     std::vector<Slice>& slices = threadTrack(s.integer(0), s.integer(1), TrackKind::kRanges);
                     slices.push_back({s.integer(2), open ? kOpen : s.integer(3), s.integer(4), -1,
                                       nameOf(s.id<StringId>(5)), note, SliceKind::kRange});
                   });
  }

  // Operators and Python calls of imported traces, among the ranges. Their ids are of other tables: negative,
  // and made different, so that none is taken for another.
  Status loadCalls() {
    for (const auto& [sql, what] :
         {std::pair{"SELECT process_id, thread_id, start_ns, duration_ns, -2 * id, name_id FROM operator", "operator"},
          std::pair{"SELECT process_id, thread_id, start_ns, duration_ns, -2 * id - 1, name_id FROM python_call",
                    "Python call"}}) {
      const uint32_t note = intern(what);
      Status read = forEach(sql, [&](const Statement& s) {
        if (!usable(s.integer(0), s.integer(2), s.integer(3))) return;
        threadTrack(s.integer(0), s.integer(1), TrackKind::kRanges)
            .push_back(
                {s.integer(2), s.integer(3), s.integer(4), -1, nameOf(s.id<StringId>(5)), note, SliceKind::kRange});
      });
      if (!read.ok()) return read;
    }
    return Unit{};
  }

  Status loadSteps() {
    return forEach(
        "SELECT process_id, start_ns, duration_ns, id, step FROM steps ORDER BY start_ns", [this](const Statement& s) {
          if (s.isNull(2) || !usable(s.integer(0), s.integer(1), s.integer(2))) return;
          const int64_t start = s.integer(1);
          m_timeline.steps.push_back({s.integer(0), s.integer(4), {start, start + s.integer(2)}});
          Draft& draft = m_drafts[{m_processIndex[s.integer(0)], kSteps, 0, TrackKind::kSteps, 0}];
          draft.label = "steps";
          draft.slices.push_back({start, s.integer(2), s.integer(3), -1, intern("step " + std::to_string(s.integer(4))),
                                  intern("host range"), SliceKind::kStep});
        });
  }

  // A range that never ended reaches to the last thing that its process did.
  void closeOpenRanges() {
    std::map<uint32_t, int64_t> ends;
    for (const auto& [key, draft] : m_drafts) {
      int64_t& end = ends.try_emplace(std::get<0>(key), 0).first->second;
      for (const Slice& slice : draft.slices)
        end = std::max(end, slice.startNs + std::max<int64_t>(slice.durationNs, 0));
    }
    for (auto& [key, draft] : m_drafts) {
      for (Slice& slice : draft.slices) {
        if (slice.durationNs == kOpen) slice.durationNs = std::max<int64_t>(0, ends[std::get<0>(key)] - slice.startNs);
      }
    }
  }

  void projectOntoDevice() {
    std::map<uint32_t, std::vector<LaunchedWork>> work;
    for (const auto& [key, draft] : m_drafts) {
      if (std::get<3>(key) != TrackKind::kStream) continue;
      for (const Slice& slice : draft.slices) {
        // Gathers of the next layer's weights are launched early: with them every range would reach into its
        // neighbours.
        if (slice.kind == SliceKind::kCommunication) continue;
        work[std::get<0>(key)].push_back({slice.correlation, {slice.startNs, slice.endNs()}});
      }
    }
    for (auto& [process, pieces] : work) {
      std::sort(pieces.begin(), pieces.end(),
                [](const LaunchedWork& a, const LaunchedWork& b) { return a.correlation < b.correlation; });
    }
    std::map<TrackKey, Draft> projections;
    for (const auto& [key, draft] : m_drafts) {
      const auto& [process, group, order, kind, id] = key;
      const auto calls = m_drafts.find({process, group, order, TrackKind::kApiCalls, id});
      if (kind != TrackKind::kRanges || calls == m_drafts.end()) continue;
      Draft projection{"ranges on device · " + draft.label.substr(0, draft.label.find(" · ")),
                       projectRanges(draft.slices, calls->second.slices, work[process])};
      if (!projection.slices.empty())
        projections[{process, kProjections, order, TrackKind::kProjection, id}] = std::move(projection);
    }
    m_drafts.merge(projections);
  }

  // Of processes with device work, below it: dozens of helper threads would push it out of sight. The main thread keeps
  // its place.
  void moveThreadsWithoutLaunches() {
    std::map<uint32_t, std::vector<int64_t>> launched;  // correlation ids
    for (const auto& [key, draft] : m_drafts) {
      if (std::get<3>(key) != TrackKind::kStream) continue;
      std::vector<int64_t>& ids = launched[std::get<0>(key)];
      for (const Slice& slice : draft.slices) ids.push_back(slice.correlation);
    }
    for (auto& [process, ids] : launched) std::sort(ids.begin(), ids.end());
    std::set<std::pair<uint32_t, int64_t>> launching;  // process, thread
    for (const auto& [key, draft] : m_drafts) {
      const auto ids = launched.find(std::get<0>(key));
      if (std::get<3>(key) != TrackKind::kApiCalls || ids == launched.end()) continue;
      const auto isLaunch = [&](const Slice& call) {
        return call.correlation >= 0 && std::binary_search(ids->second.begin(), ids->second.end(), call.correlation);
      };
      if (std::any_of(draft.slices.begin(), draft.slices.end(), isLaunch))
        launching.emplace(std::get<0>(key), std::get<4>(key));
    }
    std::vector<TrackKey> moved;
    for (const auto& [key, draft] : m_drafts) {
      const auto& [process, group, order, kind, id] = key;
      const bool isMain = order == kMainThread;
      if (group == kThreads && !isMain && launched.contains(process) && !launching.contains({process, id}))
        moved.push_back(key);
    }
    for (const TrackKey& key : moved) {
      auto node = m_drafts.extract(key);
      std::get<1>(node.key()) = kOtherThreads;
      m_drafts.insert(std::move(node));
    }
  }

  void buildTracks() {
    std::map<uint32_t, int> communicators;
    std::map<uint32_t, int> projections;
    for (const auto& [key, draft] : m_drafts) {
      if (std::get<3>(key) == TrackKind::kCollectives) ++communicators[std::get<0>(key)];
      if (std::get<3>(key) == TrackKind::kProjection) ++projections[std::get<0>(key)];
    }
    for (auto& [key, draft] : m_drafts) {
      const auto& [process, group, order, kind, id] = key;
      Track track;
      track.kind = kind;
      track.key = id;
      track.processId = m_timeline.processes[process].id;
      track.label = std::move(draft.label);
      const auto label = m_communicatorLabels.find({process, id});
      if (kind == TrackKind::kCollectives && communicators[process] > 1 && label != m_communicatorLabels.end())
        track.label += " · " + label->second;
      if (kind == TrackKind::kProjection && projections[process] == 1) track.label = "ranges on device";
      track.lanes = kind == TrackKind::kProjection ? nestedLanes(m_timeline.processes[process], id, draft.slices)
                                                   : assignLanes(std::move(draft.slices));
      m_timeline.processes[process].tracks.push_back(std::move(track));
    }
  }

  // On the device neighbours can overlap a little (backward begins while forward ends), so free lanes alone would not
  // keep what encloses above what is enclosed: the host's nesting decides, and each level has lanes of its own.
  static std::vector<Lane> nestedLanes(const Process& process, int64_t thread, const std::vector<Slice>& slices) {
    std::unordered_map<int64_t, size_t> levelOf;
    for (const Track& track : process.tracks) {
      if (track.kind != TrackKind::kRanges || track.key != thread) continue;
      for (size_t level = 0; level < track.lanes.size(); ++level) {
        for (const Slice& slice : track.lanes[level].slices) levelOf[slice.id] = level;
      }
    }
    std::map<size_t, std::vector<Slice>> levels;
    for (const Slice& slice : slices) levels[levelOf[slice.id]].push_back(slice);
    std::vector<Lane> lanes;
    for (auto& [level, own] : levels) {
      for (Lane& lane : assignLanes(std::move(own))) lanes.push_back(std::move(lane));
    }
    return lanes;
  }

  static constexpr int64_t kOpen = -1;

  Trace& m_trace;
  const Progress& m_progress;
  Timeline m_timeline;
  int64_t m_rows = 1;
  int64_t m_done = 0;
  std::map<TrackKey, Draft> m_drafts;
  std::unordered_map<int64_t, uint32_t> m_processIndex;
  std::unordered_map<int64_t, const Stream*> m_streams;
  std::unordered_map<int64_t, const Thread*> m_threads;
  std::unordered_map<int64_t, int> m_devicesOf;
  std::unordered_map<std::string, uint32_t> m_nameIndex;
  std::unordered_map<int64_t, uint32_t> m_nameOfString;
  std::map<std::array<int64_t, 6>, uint32_t> m_launchNotes;
  std::map<std::pair<int64_t, int64_t>, uint32_t> m_collectiveNotes;  // by process and correlation
  std::map<std::pair<uint32_t, int64_t>, std::string> m_communicatorLabels;
};

}  // namespace

Result<Timeline> loadTimeline(Trace& trace, const Progress& progress) {
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return snapshot.status().error();
  return Loader(trace, progress).load();
}

}  // namespace plumb::timeline
