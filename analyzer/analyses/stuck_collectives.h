// SPDX-License-Identifier: Apache-2.0
// What a run hangs in, from the states of collectives that a flight recorder dumped: per process group the first
// collective that did not complete on all its ranks, and the first that some rank never called, with the ranks that are
// missing. A file without states is a recording: see stuck_recording.h. Ranks are those of the run.
//   held back by a rank: others completed it, so the rest did not do its part (its GPU or its network).
//   never called: a rank's last enqueued collective comes before it.
//   called differently: ranks called another operation, other sizes or another data type under the same number.
//   waiting: all ranks called it and none completed it; it waits for what is queued before it, or for the network.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/trace.h"

namespace plumb {

enum class StuckKind : uint8_t { HeldBack, NeverCalled, CalledDifferently, Waiting, CannotSay };
[[nodiscard]] std::string_view nameOf(StuckKind kind);  // "held back" …

// A rank's part in a stuck collective, where the file holds a recording of it.
struct StuckMember {
  ProcessId process;
  int64_t rank = 0;
  bool isMissing = false;
  std::optional<CollectiveId> call;  // of those that called it
  std::optional<TimePoint> called;
  std::optional<Duration> waited;  // of those that called it and are not missing
  std::string doing;               // of the missing: what its thread did meanwhile, "" when nothing is known
};

// What a rank's own dump calls its part: sends and receives are numbered by each rank, and ranks may call differently.
struct StuckEntry {
  std::string operation;
  int64_t sequence = 0;
  std::optional<TimePoint> called;
};

struct StuckCollective {
  StuckKind kind = StuckKind::CannotSay;
  int64_t communicatorHash = 0;
  std::string group, description;  // as the framework calls the process group, and what the program does
  std::string operation;           // the framework's name
  int64_t sequence = 0;
  std::string sizes, datatype;   // of the input, on the lowest rank that is known to have called it
  std::vector<int64_t> ranks;    // of the group; empty: not told
  std::vector<int64_t> missing;  // who keeps the others waiting; empty when that cannot be said
  std::vector<int64_t> waiting;  // called it and have not completed it, without the missing
  std::vector<int64_t> completed;
  std::vector<int64_t> unknown;           // of whom nothing is in the file
  std::optional<TimePoint> since;         // when the first of those that have not completed it called it
  std::string place;                      // where it was called: 'file.py:12 function' or a range, "" when not recorded
  std::string reason;                     // a sentence
  std::vector<StuckMember> members;       // of a recording
  std::map<int64_t, StuckEntry> entries;  // of dumps: by rank, of those whose entry is in the file
  std::optional<Duration> waited;         // the longest of the members'
};

struct StuckAnalysis {
  bool hasStates = false;                    // a flight recorder's; otherwise it is about a recording
  bool hasCollectives = false;               // without either nothing can be said
  std::vector<StuckCollective> collectives;  // those with missing ranks first, then by time
  // The ranks named as missing, with the number of groups that name them, most first: where to look.
  struct Suspect {
    int64_t rank = 0;
    int64_t groups = 0;
  };
  std::vector<Suspect> suspects;
  // Of dumps, by rank: the first entry that the rank has called and not completed.
  struct OpenEntry {
    StuckEntry entry;
    std::string group;  // as the framework calls the process group
  };
  std::map<int64_t, OpenEntry> firstOpen;
};

[[nodiscard]] Result<StuckAnalysis> analyzeStuckCollectives(Trace& trace);

// What hangs, in the words of every face: "The run hangs in AllReduce 4 of world, since 52 ms after the start of
// the recording: … Look at rank 1.", or that nothing does, or why that cannot be said. `since` is the first one's time
// as the caller writes times.
[[nodiscard]] std::string hangSentence(const StuckAnalysis& analysis, const std::string& since);

// "world", of dumps "process group 41".
[[nodiscard]] std::string groupText(const StuckAnalysis& analysis, const std::string& group);

// "3 5-7 9"
[[nodiscard]] std::string rankList(const std::vector<int64_t>& ranks);

}  // namespace plumb
