// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/stuck_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/stuck_recording.h"

namespace plumb {
namespace {

// One rank's part in a collective.
struct Call {
  bool isComplete = false;
  StringId name;  // the framework's
  StringId sizes, datatype, place;
  bool hasPlace = false;
  TimePoint time;
};

// A send or receive that is not complete.
struct Transfer {
  int64_t rank = 0, sequence = 0;
  Call call;
};

struct RankView {
  std::optional<int64_t> lastEnqueued, lastCompleted;
  std::map<int64_t, Call> calls;  // by sequence
};

struct Group {
  std::string name, description;
  // The first entry of each rank that is not complete.
  std::map<int64_t, std::pair<CollectiveId, StuckEntry>> firstOpen;
  std::vector<int64_t> members;  // ranks of the run
  std::map<int64_t, RankView> ranks;
  // Sends by (from, to) as positions in the group, and the receives that wait for them.
  std::map<std::pair<int64_t, int64_t>, std::vector<Transfer>> sends, receives;
  bool hasTransfers = false;
};

using Groups = std::map<int64_t, Group>;  // by communicator hash

Status loadGroups(Trace& trace, Groups& groups, bool& hasStates) {
  std::unordered_map<int64_t, int64_t> hashOf;
  auto states = trace.query(
      "SELECT m.id, m.process_id, m.hash, s.name_id, s.description_id, s.last_enqueued, s.last_completed"
      " FROM communicator_state s JOIN communicator m ON m.id = s.communicator_id ORDER BY m.id");
  if (!states.ok()) return states.error();
  while (states.value().next()) {
    Statement& row = states.value();
    const int64_t hash = row.integer(2);
    hashOf.emplace(row.integer(0), hash);
    Group& group = groups[hash];
    if (group.name.empty()) group.name = trace.text(row.id<StringId>(3));
    if (group.description.empty()) group.description = trace.text(row.id<StringId>(4));
    const Process* process = trace.process(row.id<ProcessId>(1));
    if (!process || !process->rank) continue;
    RankView& view = group.ranks[*process->rank];
    view.lastEnqueued = row.optionalInteger(5);
    view.lastCompleted = row.optionalInteger(6);
    hasStates |= view.lastEnqueued.has_value() || view.lastCompleted.has_value();
  }
  if (Status status = states.value().status(); !status.ok()) return status;

  auto members =
      trace.query("SELECT communicator_id, rank FROM communicator_member ORDER BY communicator_id, position");
  if (!members.ok()) return members.error();
  std::set<int64_t> filled;
  int64_t current = -1;
  while (members.value().next()) {
    const int64_t communicator = members.value().integer(0);
    const auto hash = hashOf.find(communicator);
    if (hash == hashOf.end()) continue;
    // Every rank tells the same list; the first is taken.
    if (communicator != current && !filled.insert(hash->second).second) continue;
    current = communicator;
    groups[hash->second].members.push_back(members.value().integer(1));
  }
  return members.value().status();
}

// "nccl:send 0->3", "nccl:recv 0<-3": from and to as positions in the group.
std::optional<std::pair<int64_t, int64_t>> endsOf(std::string_view name, bool& isSend) {
  const size_t right = name.find("->"), left = name.find("<-");
  isSend = right != std::string_view::npos;
  const size_t arrow = std::min(right, left);
  if (arrow == std::string_view::npos) return std::nullopt;
  const size_t blank = name.rfind(' ', arrow);
  const std::string_view mine = name.substr(blank == std::string_view::npos ? 0 : blank + 1, arrow - blank - 1);
  const std::string_view other = name.substr(arrow + 2);
  int64_t a = 0, b = 0;
  const auto read = [](std::string_view text, int64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  };
  if (blank == std::string_view::npos || !read(mine, a) || !read(other, b)) return std::nullopt;
  return isSend ? std::pair(a, b) : std::pair(b, a);
}

StuckEntry entryOf(Trace& trace, const Call& call, int64_t sequence) {
  return {std::string(trace.text(call.name)), sequence, call.time};
}

// Entries have ids in the order of their dump; some have no time.
void keepIfFirst(Group& group, int64_t rank, CollectiveId id, StuckEntry entry) {
  const auto [first, isNew] = group.firstOpen.try_emplace(rank, id, entry);
  if (!isNew && id < first->second.first) first->second = {id, std::move(entry)};
}

Status loadCalls(Trace& trace, Groups& groups, bool& hasStates) {
  auto calls = trace.query(
      "SELECT c.process_id, m.hash, c.sequence, s.p2p_sequence, s.state, s.name_id, s.input_sizes_id, c.datatype_id,"
      " k.name_id, c.start_ns, c.id FROM collective_state s JOIN collective c ON c.id = s.collective_id"
      " JOIN communicator m ON m.id = c.communicator_id LEFT JOIN stack k ON k.id = s.stack_id");
  if (!calls.ok()) return calls.error();
  while (calls.value().next()) {
    Statement& row = calls.value();
    hasStates = true;
    const Process* process = trace.process(row.id<ProcessId>(0));
    const auto group = groups.find(row.integer(1));
    if (!process || !process->rank || group == groups.end()) continue;
    Call call;
    call.isComplete = row.text(4) == "completed";
    call.name = row.id<StringId>(5);
    call.sizes = row.id<StringId>(6);
    call.datatype = row.id<StringId>(7);
    call.hasPlace = !row.isNull(8);
    if (call.hasPlace) call.place = row.id<StringId>(8);
    call.time = row.time(9);
    if (!call.isComplete)
      keepIfFirst(group->second, *process->rank, row.id<CollectiveId>(10),
                  entryOf(trace, call, row.integer(row.isNull(3) ? 2 : 3)));
    if (row.isNull(3)) {
      group->second.ranks[*process->rank].calls.insert_or_assign(row.integer(2), call);
      continue;
    }
    group->second.hasTransfers = true;
    bool isSend = false;
    const auto ends = endsOf(trace.text(call.name), isSend);
    if (!ends || call.isComplete) continue;
    auto& transfers = isSend ? group->second.sends : group->second.receives;
    transfers[*ends].push_back({*process->rank, row.integer(3), call});
  }
  return calls.value().status();
}

// Without a status: what the calls tell. Collectives of a group complete in order.
void completeViews(Group& group) {
  for (auto& [rank, view] : group.ranks) {
    // Where a group has sends and receives, the numbers of the status count those too, differently on each rank.
    if (group.hasTransfers) view.lastEnqueued = view.lastCompleted = std::nullopt;
    if (view.calls.empty()) continue;
    if (!view.lastEnqueued) view.lastEnqueued = view.calls.rbegin()->first;
    if (view.lastCompleted) continue;
    const auto open =
        std::find_if(view.calls.begin(), view.calls.end(), [](const auto& call) { return !call.second.isComplete; });
    view.lastCompleted = open == view.calls.end() ? view.calls.rbegin()->first : open->first - 1;
  }
}

struct Parts {
  std::vector<int64_t> completed, called, never, unknown;
};

Parts partsOf(const Group& group, int64_t sequence) {
  Parts parts;
  std::set<int64_t> all(group.members.begin(), group.members.end());
  for (const auto& [rank, view] : group.ranks) all.insert(rank);
  for (const int64_t rank : all) {
    const auto found = group.ranks.find(rank);
    if (found == group.ranks.end() || (!found->second.lastEnqueued && !found->second.lastCompleted)) {
      parts.unknown.push_back(rank);
      continue;
    }
    const RankView& view = found->second;
    const auto call = view.calls.find(sequence);
    const bool isListed = call != view.calls.end();
    if (isListed ? call->second.isComplete : view.lastCompleted.value_or(-1) >= sequence) {
      parts.completed.push_back(rank);
    } else if (isListed || view.lastEnqueued.value_or(-1) >= sequence) {
      parts.called.push_back(rank);
    } else {
      parts.never.push_back(rank);
    }
  }
  return parts;
}

std::vector<int64_t> joined(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> all = a;
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end());
  return all;
}

// Ranks that called something else than most did under this number.
struct Odd {
  std::vector<int64_t> ranks;  // none: all called the same
  std::string called, most;    // what they called, and what most did
};
Odd oddOnes(Trace& trace, const Group& group, int64_t sequence, const std::vector<int64_t>& called) {
  std::map<std::string, std::vector<int64_t>> byKind;
  for (const int64_t rank : called) {
    const auto& calls = group.ranks.at(rank).calls;
    const auto call = calls.find(sequence);
    if (call == calls.end()) continue;
    const std::string name(trace.text(call->second.name));
    // Only of a reduction to all must the sizes be the same on every rank.
    const bool sameSizes = name.find("all_reduce") != std::string::npos || name.find("allreduce") != std::string::npos;
    std::string kind = name;
    if (sameSizes) kind.append(" of ").append(trace.text(call->second.sizes));
    if (const auto type = trace.text(call->second.datatype); !type.empty()) kind.append(" of ").append(type);
    byKind[kind].push_back(rank);
  }
  if (byKind.size() < 2) return {};
  const auto most = std::max_element(byKind.begin(), byKind.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  Odd odd;
  odd.most = most->first;
  for (auto entry = byKind.begin(); entry != byKind.end(); ++entry) {
    if (entry == most) continue;
    odd.ranks.insert(odd.ranks.end(), entry->second.begin(), entry->second.end());
    odd.called.append(odd.called.empty() ? "" : " or ").append(entry->first);
  }
  std::sort(odd.ranks.begin(), odd.ranks.end());
  return odd;
}

const char* ranksWord(const std::vector<int64_t>& ranks) { return ranks.size() == 1 ? "rank" : "ranks"; }

void judge(Trace& trace, const Group& group, const Parts& parts, StuckCollective& stuck) {
  const auto said = [](const std::vector<int64_t>& ranks) {
    return fmt::format("{} {}", ranksWord(ranks), rankList(ranks));
  };
  if (!parts.completed.empty()) {
    stuck.kind = StuckKind::HeldBack;
    stuck.missing = joined(parts.called, parts.never);
    stuck.reason = fmt::format("{} completed it, and {} did not: look at the GPU and the network of the latter",
                               said(parts.completed), said(stuck.missing));
    return;
  }
  stuck.waiting = parts.called;
  if (!parts.never.empty()) {
    stuck.kind = StuckKind::NeverCalled;
    stuck.missing = parts.never;
    stuck.reason = fmt::format("{} wait{} for {}, which never called it", said(parts.called),
                               parts.called.size() == 1 ? "s" : "", said(parts.never));
    return;
  }
  Odd odd = oddOnes(trace, group, stuck.sequence, parts.called);
  stuck.missing = std::move(odd.ranks);
  if (!stuck.missing.empty()) {
    stuck.kind = StuckKind::CalledDifferently;
    stuck.reason = fmt::format("{} called {}, the others {}", said(stuck.missing), odd.called, odd.most);
  } else if (!parts.unknown.empty()) {
    stuck.kind = StuckKind::CannotSay;
    stuck.reason = fmt::format("of {} nothing is in the file", said(parts.unknown));
  } else {
    stuck.kind = StuckKind::Waiting;
    stuck.reason = "all ranks called it and none completed it: it waits for work queued before it, or for the network";
  }
}

StuckCollective describe(Trace& trace, int64_t hash, const Group& group, int64_t sequence) {
  const Parts parts = partsOf(group, sequence);
  StuckCollective stuck;
  stuck.communicatorHash = hash;
  stuck.group = group.name;
  stuck.description = group.description;
  stuck.sequence = sequence;
  stuck.ranks = group.members;
  stuck.completed = parts.completed;
  stuck.unknown = parts.unknown;
  bool isDescribed = false;
  for (const auto& [rank, view] : group.ranks) {
    const auto call = view.calls.find(sequence);
    if (call == view.calls.end()) continue;
    stuck.entries.emplace(rank, entryOf(trace, call->second, sequence));
    if (!call->second.isComplete && (!stuck.since || call->second.time < *stuck.since)) stuck.since = call->second.time;
    if (isDescribed) continue;
    isDescribed = true;
    stuck.operation = trace.text(call->second.name);
    stuck.sizes = trace.text(call->second.sizes);
    stuck.datatype = trace.text(call->second.datatype);
    if (call->second.hasPlace) stuck.place = trace.text(call->second.place);
  }
  judge(trace, group, parts, stuck);
  return stuck;
}

void findInCollectives(Trace& trace, int64_t hash, const Group& group, std::vector<StuckCollective>& found) {
  std::set<int64_t> open;
  for (const auto& [rank, view] : group.ranks) {
    for (const auto& [sequence, call] : view.calls) {
      if (!call.isComplete) open.insert(sequence);
    }
  }
  if (open.empty()) return;
  found.push_back(describe(trace, hash, group, *open.begin()));
  if (found.back().kind == StuckKind::NeverCalled) return;
  for (auto sequence = std::next(open.begin()); sequence != open.end(); ++sequence) {
    if (partsOf(group, *sequence).never.empty()) continue;
    StuckCollective later = describe(trace, hash, group, *sequence);
    // Not the completions but who never came is what this one adds.
    if (later.kind == StuckKind::NeverCalled) found.push_back(std::move(later));
    return;
  }
}

const Transfer& firstOf(const std::vector<Transfer>& transfers) {
  return *std::ranges::min_element(transfers, {}, &Transfer::sequence);
}

void findInTransfers(Trace& trace, int64_t hash, const Group& group, std::vector<StuckCollective>& found) {
  std::set<std::pair<int64_t, int64_t>> pairs;
  for (const auto& [ends, transfers] : group.sends) pairs.insert(ends);
  for (const auto& [ends, transfers] : group.receives) pairs.insert(ends);
  for (const auto& ends : pairs) {
    const auto send = group.sends.find(ends), receive = group.receives.find(ends);
    const bool isSent = send != group.sends.end(), isReceived = receive != group.receives.end();
    const Transfer& first = firstOf(isSent ? send->second : receive->second);
    StuckCollective stuck;
    stuck.communicatorHash = hash;
    stuck.group = group.name;
    stuck.description = group.description;
    stuck.operation = trace.text(first.call.name);
    stuck.sequence = first.sequence;
    stuck.sizes = trace.text(first.call.sizes);
    stuck.datatype = trace.text(first.call.datatype);
    if (first.call.hasPlace) stuck.place = trace.text(first.call.place);
    stuck.since = first.call.time;
    stuck.ranks = group.members;
    stuck.waiting.push_back(first.rank);
    stuck.entries.emplace(first.rank, entryOf(trace, first.call, first.sequence));
    if (isSent && isReceived) {
      const Transfer& other = firstOf(receive->second);
      stuck.waiting.push_back(other.rank);
      stuck.entries.emplace(other.rank, entryOf(trace, other.call, other.sequence));
      stuck.kind = StuckKind::Waiting;
      stuck.reason =
          "both ends called it and neither completed it: it waits for work queued before it, or for the network";
    } else {
      const int64_t position = isSent ? ends.second : ends.first;
      const bool isKnown = position >= 0 && position < static_cast<int64_t>(group.members.size());
      if (isKnown) stuck.unknown.push_back(group.members[static_cast<size_t>(position)]);
      stuck.reason = "the other end has no such transfer open: it has completed its part, or never called it";
    }
    found.push_back(std::move(stuck));
  }
}

void countSuspects(StuckAnalysis& result) {
  std::map<int64_t, std::set<int64_t>> groupsOfRank;
  for (const StuckCollective& stuck : result.collectives) {
    for (const int64_t rank : stuck.missing) groupsOfRank[rank].insert(stuck.communicatorHash);
  }
  for (const auto& [rank, named] : groupsOfRank) {
    result.suspects.push_back({rank, static_cast<int64_t>(named.size())});
  }
  std::stable_sort(result.suspects.begin(), result.suspects.end(),
                   [](const auto& a, const auto& b) { return a.groups > b.groups; });
}

}  // namespace

std::string_view nameOf(StuckKind kind) {
  switch (kind) {
    case StuckKind::HeldBack:
      return "held back";
    case StuckKind::NeverCalled:
      return "never called";
    case StuckKind::CalledDifferently:
      return "called differently";
    case StuckKind::Waiting:
      return "waiting";
    case StuckKind::CannotSay:
      break;
  }
  return "cannot say";
}

std::string rankList(const std::vector<int64_t>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ' ';
    text += std::to_string(ranks[i]);
    if (last > i + 1) {
      text += '-' + std::to_string(ranks[last]);
    } else {
      last = i;
    }
    i = last + 1;
  }
  return text;
}

std::string groupText(const StuckAnalysis& analysis, const std::string& group) {
  return analysis.hasStates ? "process group " + group : group;
}

std::string hangSentence(const StuckAnalysis& analysis, const std::string& since) {
  if (!analysis.hasStates && !analysis.hasCollectives)
    return "Cannot say whether the run hangs, because the file holds neither collectives nor their states: record the "
           "run, or import the flight-recorder dumps of all ranks.";
  if (analysis.collectives.empty()) return "No rank waited in a collective for one that never came.";
  const StuckCollective& first = analysis.collectives.front();
  std::string text =
      fmt::format("{} {} {} of {}{}: {}.",
                  first.missing.empty() ? "Collectives have not ended, the first of them" : "The run hangs in",
                  first.operation, first.sequence, groupText(analysis, first.group),
                  since.empty() ? "" : fmt::format(", since {} after the start of the recording", since), first.reason);
  std::vector<int64_t> ranks;
  for (const StuckAnalysis::Suspect& suspect : analysis.suspects) ranks.push_back(suspect.rank);
  std::ranges::sort(ranks);
  if (!ranks.empty()) text += fmt::format(" Look at {} {}.", ranksWord(ranks), rankList(ranks));
  return text;
}

Result<StuckAnalysis> analyzeStuckCollectives(Trace& trace) {
  StuckAnalysis result;
  Groups groups;
  if (const Status loaded = loadGroups(trace, groups, result.hasStates); !loaded.ok()) return loaded.error();
  if (const Status loaded = loadCalls(trace, groups, result.hasStates); !loaded.ok()) return loaded.error();
  if (!result.hasStates) {
    auto any = trace.query("SELECT 1 FROM main.collective LIMIT 1");
    if (!any.ok()) return any.error();
    result.hasCollectives = any.value().next();
    auto found = findStuckInRecording(trace);
    if (!found.ok()) return found.error();
    result.collectives = std::move(found).value();
    countSuspects(result);
    return result;
  }
  std::map<int64_t, CollectiveId> firstIds;
  for (auto& [hash, group] : groups) {
    completeViews(group);
    for (auto& [rank, open] : group.firstOpen) {
      const auto [id, isNew] = firstIds.try_emplace(rank, open.first);
      if (!isNew && id->second < open.first) continue;
      id->second = open.first;
      result.firstOpen[rank] = {std::move(open.second), group.name};
    }
    findInCollectives(trace, hash, group, result.collectives);
    findInTransfers(trace, hash, group, result.collectives);
  }
  constexpr TimePoint kNever(INT64_MAX);
  std::stable_sort(result.collectives.begin(), result.collectives.end(),
                   [&](const StuckCollective& a, const StuckCollective& b) {
                     return std::make_tuple(a.missing.empty(), a.kind, a.since.value_or(kNever)) <
                            std::make_tuple(b.missing.empty(), b.kind, b.since.value_or(kNever));
                   });
  countSuspects(result);
  return result;
}

}  // namespace plumb
