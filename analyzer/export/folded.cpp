// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/folded.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/analyses/launches.h"
#include "collector/schema/event_flags.h"

namespace plumb::exports {
namespace {

using schema::kNoUsableTime;

// Something on a host thread that others may lie in.
struct Frame {
  int64_t start, end;
  StringId name;
};
using FramesByThread = std::map<ThreadId, std::vector<Frame>>;

Status addFrames(Trace& trace, const char* sql, FramesByThread& frames, FoldedResult& result) {
  auto rows = trace.query(sql);
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) {
    const int64_t start = rows.value().integer(1), duration = rows.value().integer(2);
    if (rows.value().isNull(2) || !isUsableTime(start, duration)) {
      ++result.unusable;
      continue;
    }
    frames[rows.value().id<ThreadId>(0)].push_back({start, start + duration, rows.value().id<StringId>(3)});
  }
  return rows.value().status();
}

Result<FramesByThread> loadFrames(Trace& trace, bool withCalls, FoldedResult& result) {
  FramesByThread frames;
  for (const char* sql : {"SELECT thread_id, start_ns, duration_ns, name_id FROM main.range WHERE kind = 'push_pop'",
                          "SELECT thread_id, start_ns, duration_ns, name_id FROM operator",
                          "SELECT thread_id, start_ns, duration_ns, name_id FROM python_call",
                          "SELECT thread_id, start_ns, duration_ns, name_id FROM main.library_call",
                          "SELECT thread_id, start_ns, duration_ns, name_id FROM os_call",
                          "SELECT thread_id, start_ns, duration_ns, name_id FROM main.api_call"}) {
    if (!withCalls && (std::string_view(sql).ends_with("api_call") || std::string_view(sql).ends_with("os_call"))) {
      continue;
    }
    if (const Status added = addFrames(trace, sql, frames, result); !added.ok()) return added.error();
  }
  auto others = trace.query("SELECT count(*) FROM main.range WHERE kind = 'start_end'");
  if (!others.ok()) return others.error();
  if (others.value().next()) result.notNested = static_cast<uint64_t>(others.value().integer(0));
  for (auto& [thread, list] : frames) {
    std::ranges::stable_sort(
        list, [](const Frame& a, const Frame& b) { return std::tie(a.start, b.end) < std::tie(b.start, a.end); });
  }
  return frames;
}

class Stacks {
 public:
  explicit Stacks(Trace& trace) : m_trace(trace) {}

  void add(ProcessId process, const std::vector<Frame>& path, std::optional<StringId> leaf, int64_t ns) {
    std::string stack = rootOf(process);
    for (const Frame& frame : path) stack += ';' + clean(m_trace.text(frame.name));
    if (leaf) stack += ';' + clean(m_trace.text(*leaf));
    m_weights[std::move(stack)] += ns;
  }
  void addText(ProcessId process, const std::string& rest, int64_t ns) { m_weights[rootOf(process) + rest] += ns; }
  [[nodiscard]] uint64_t write(OutputFile& out) const {
    for (const auto& [stack, ns] : m_weights) out.write(fmt::format("{} {}\n", stack, ns));
    return m_weights.size();
  }
  // A semicolon or a line end in a name would be read as the next frame or stack.
  [[nodiscard]] static std::string clean(std::string_view name) {
    std::string text(name.empty() ? "(no name)" : name);
    for (char& c : text) {
      if (c == ';') c = ':';
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    return text;
  }

 private:
  [[nodiscard]] std::string rootOf(ProcessId id) const {
    const Process* process = m_trace.process(id);
    return process ? clean(process->label()) : "(no process)";
  }
  Trace& m_trace;
  std::map<std::string, int64_t> m_weights;
};

// Walks a thread's frames; `path` are those that hold the moment. Moments must not go back.
class Walk {
 public:
  explicit Walk(const std::vector<Frame>& frames) : m_frames(frames) {}
  const std::vector<Frame>& at(int64_t time) {
    for (; m_next < m_frames.size() && m_frames[m_next].start <= time; ++m_next) {
      leave(m_frames[m_next].start);
      m_path.push_back(m_frames[m_next]);
    }
    leave(time);
    return m_path;
  }

 private:
  void leave(int64_t time) {
    std::erase_if(m_path, [time](const Frame& frame) { return frame.end <= time; });
  }
  const std::vector<Frame>& m_frames;
  size_t m_next = 0;
  std::vector<Frame> m_path;
};

struct Work {
  ProcessId process;
  ThreadId thread;
  int64_t launched;
  std::string_view fixedName;  // for copies and sets
  StringId name;
  int64_t duration;
};

Status foldGpu(Trace& trace, Stacks& stacks, FoldedResult& result) {
  auto launches = LaunchIndex::load(trace);
  if (!launches.ok()) return launches.error();
  auto frames = loadFrames(trace, false, result);
  if (!frames.ok()) return frames.error();
  std::vector<Work> work;
  struct Source {
    const char* sql;
    std::string_view fixedName;
  };
  static constexpr Source kSources[] = {
      {"SELECT process_id, correlation, start_ns, duration_ns, flags, short_name_id FROM main.kernel", ""},
      {"SELECT process_id, correlation, start_ns, duration_ns, flags, 0 FROM main.memory_copy", "copy"},
      {"SELECT process_id, correlation, start_ns, duration_ns, flags, 0 FROM main.memory_set", "set"}};
  for (const Source& source : kSources) {
    auto rows = trace.query(source.sql);
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      if ((row.integer(4) & kNoUsableTime) || !isUsableTime(row.integer(2), row.integer(3))) {
        ++result.unusable;
        continue;
      }
      const auto process = row.id<ProcessId>(0);
      const auto name = row.id<StringId>(5);
      const Launch* launch = launches.value().find(process, row.id<Correlation>(1));
      if (launch) {
        work.push_back({process, launch->thread, launch->start.ns(), source.fixedName, name, row.integer(3)});
      } else {
        const std::string leaf =
            source.fixedName.empty() ? Stacks::clean(trace.text(name)) : std::string(source.fixedName);
        stacks.addText(process, ";(no launch recorded);" + leaf, row.integer(3));
      }
    }
    if (Status status = row.status(); !status.ok()) return status;
  }
  std::ranges::sort(work, [](const Work& a, const Work& b) {
    return std::tie(a.thread, a.launched) < std::tie(b.thread, b.launched);
  });
  static const std::vector<Frame> kNone;
  for (size_t i = 0; i < work.size();) {
    const auto found = frames.value().find(work[i].thread);
    Walk walk(found == frames.value().end() ? kNone : found->second);
    for (const ThreadId thread = work[i].thread; i < work.size() && work[i].thread == thread; ++i) {
      const std::vector<Frame>& path = walk.at(work[i].launched);
      if (work[i].fixedName.empty()) {
        stacks.add(work[i].process, path, work[i].name, work[i].duration);
      } else {
        std::string rest;
        for (const Frame& frame : path) rest += ';' + Stacks::clean(trace.text(frame.name));
        stacks.addText(work[i].process, rest + ';' + std::string(work[i].fixedName), work[i].duration);
      }
    }
  }
  return Unit{};
}

Status foldHost(Trace& trace, Stacks& stacks, FoldedResult& result) {
  auto frames = loadFrames(trace, true, result);
  if (!frames.ok()) return frames.error();
  std::unordered_map<ThreadId, ProcessId> processes;
  for (const Thread& thread : trace.threads()) processes[thread.id] = thread.process;
  for (const auto& [thread, list] : frames.value()) {
    const ProcessId process = processes[thread];
    std::vector<Frame> path;
    int64_t now = 0;
    // The time since the last change belongs to what was innermost.
    const auto advance = [&](int64_t to) {
      while (!path.empty() && path.back().end <= to) {
        if (path.back().end > now) stacks.add(process, path, {}, path.back().end - now);
        now = std::max(now, path.back().end);
        path.pop_back();
      }
      if (!path.empty() && to > now) stacks.add(process, path, {}, to - now);
      now = std::max(now, to);
    };
    for (const Frame& frame : list) {
      advance(frame.start);
      // What reaches beyond its parent (lost ends, unsynchronized clocks) is cut there.
      const int64_t end = path.empty() ? frame.end : std::min(frame.end, path.back().end);
      path.push_back({frame.start, end, frame.name});
    }
    advance(kLargestTimeNs);
  }
  return Unit{};
}

}  // namespace

Result<FoldedResult> exportFolded(Trace& trace, FoldedWeight weight, OutputFile& out) {
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return snapshot.status().error();
  FoldedResult result;
  Stacks stacks(trace);
  const Status folded = weight == FoldedWeight::Gpu ? foldGpu(trace, stacks, result) : foldHost(trace, stacks, result);
  if (!folded.ok()) return folded.error();
  result.lines = stacks.write(out);
  return result;
}

std::string leftOutText(const FoldedResult& result) {
  std::string text;
  const auto add = [&](uint64_t count, const char* called) {
    if (count > 0) text += fmt::format("{}{} ({})", text.empty() ? "In no stack: " : ", ", called, count);
  };
  add(result.notNested, "start/end ranges, which need not nest");
  add(result.unusable, "events without an end or a usable time");
  return text.empty() ? text : text + ".";
}

}  // namespace plumb::exports
