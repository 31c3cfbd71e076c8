// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/open_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

std::string noteOf(const StuckCollective& stuck) {
  return fmt::format("{} {} has not ended: {}", stuck.operation, stuck.sequence, stuck.reason);
}

std::vector<OpenCollective> openInRecording(const StuckAnalysis& analysis) {
  std::vector<OpenCollective> open;
  for (size_t i = 0; i < analysis.collectives.size(); ++i) {
    const StuckCollective& stuck = analysis.collectives[i];
    for (const StuckMember& member : stuck.members) {
      if (member.call && member.waited) open.push_back({*member.call, i, noteOf(stuck)});
    }
  }
  return open;
}

Result<std::vector<OpenCollective>> openInDumps(Trace& trace, const StuckAnalysis& analysis) {
  // Sends and receives are numbered by each rank, so their names, which hold both ends, are part of the key.
  std::map<std::tuple<int64_t, int64_t, std::string>, size_t> stuckAt;
  std::set<int64_t> stuckGroups;
  for (size_t i = 0; i < analysis.collectives.size(); ++i) {
    const StuckCollective& stuck = analysis.collectives[i];
    stuckAt.try_emplace({stuck.communicatorHash, stuck.sequence, stuck.operation}, i);
    for (const auto& [rank, entry] : stuck.entries) {
      stuckAt.try_emplace({stuck.communicatorHash, entry.sequence, entry.operation}, i);
    }
    stuckGroups.insert(stuck.communicatorHash);
  }
  auto rows = trace.query(
      "SELECT c.id, m.hash, coalesce(s.p2p_sequence, c.sequence), s.name_id, s.state FROM collective_state s"
      " JOIN collective c ON c.id = s.collective_id JOIN communicator m ON m.id = c.communicator_id"
      " WHERE s.state <> 'completed'");
  if (!rows.ok()) return rows.error();
  std::vector<OpenCollective> open;
  Statement& row = rows.value();
  while (row.next()) {
    const auto found = stuckAt.find({row.integer(1), row.integer(2), std::string(trace.text(row.id<StringId>(3)))});
    if (found != stuckAt.end()) {
      open.push_back({row.id<CollectiveId>(0), found->second, noteOf(analysis.collectives[found->second])});
      continue;
    }
    open.push_back(
        {row.id<CollectiveId>(0),
         {},
         fmt::format("{} has not ended ({}){}", trace.text(row.id<StringId>(3)), row.text(4),
                     stuckGroups.contains(row.integer(1)) ? ": queued behind what its group is stuck in" : "")});
  }
  if (Status status = row.status(); !status.ok()) return status.error();
  return open;
}

}  // namespace

Result<std::vector<OpenCollective>> findOpenCollectives(Trace& trace, const StuckAnalysis& stuck) {
  std::vector<OpenCollective> open;
  if (stuck.hasStates) {
    auto found = openInDumps(trace, stuck);
    if (!found.ok()) return found.error();
    open = std::move(found).value();
  } else {
    open = openInRecording(stuck);
  }
  std::ranges::sort(open, {}, &OpenCollective::id);
  return open;
}

namespace timeline {
namespace {

const OpenCollective* openOf(const Slice& slice, const std::vector<OpenCollective>& open) {
  if (slice.kind != SliceKind::kCollective || slice.correlation >= 0) return nullptr;
  const auto found = std::ranges::lower_bound(open, CollectiveId(slice.id), {}, &OpenCollective::id);
  return found != open.end() && found->id == CollectiveId(slice.id) ? &*found : nullptr;
}

template <class Visit>
void forEachCollectiveTrack(Timeline& timeline, Visit visit) {
  for (Process& process : timeline.processes) {
    for (Track& track : process.tracks) {
      if (track.kind == TrackKind::kCollectives) visit(track);
    }
  }
}

// Where open slices end.
int64_t openEndOf(Timeline& timeline, const std::vector<OpenCollective>& open) {
  int64_t latest = timeline.extent.startNs;
  forEachCollectiveTrack(timeline, [&](const Track& track) {
    for (const Lane& lane : track.lanes) {
      for (const Slice& slice : lane.slices) {
        if (openOf(slice, open)) latest = std::max(latest, slice.startNs);
      }
    }
  });
  const int64_t margin = (timeline.extent.endNs - timeline.extent.startNs) / 10;
  return timeline.extent.endNs - latest < margin ? timeline.extent.endNs + margin : timeline.extent.endNs;
}

}  // namespace

size_t showOpenCollectives(Timeline& timeline, const std::vector<OpenCollective>& open) {
  if (open.empty()) return 0;
  const int64_t end = openEndOf(timeline, open);
  size_t changed = 0;
  std::map<std::string, uint32_t> notes;
  forEachCollectiveTrack(timeline, [&](Track& track) {
    std::vector<Slice> slices;
    const size_t before = changed;
    for (const Lane& lane : track.lanes) {
      for (Slice slice : lane.slices) {
        if (const OpenCollective* found = openOf(slice, open)) {
          const auto [note, added] = notes.try_emplace(found->note, static_cast<uint32_t>(timeline.names.size()));
          if (added) timeline.names.push_back(found->note);
          slice.note = note->second;
          slice.kind = SliceKind::kStuck;
          slice.durationNs = end - slice.startNs;
          ++changed;
        }
        slices.push_back(slice);
      }
    }
    if (changed > before) track.lanes = assignLanes(std::move(slices));
  });
  if (changed > 0) indexTimeline(timeline);
  return changed;
}

std::optional<SliceRef> sliceOfCollective(const Timeline& timeline, CollectiveId id) {
  for (uint32_t p = 0; p < timeline.processes.size(); ++p) {
    const auto& tracks = timeline.processes[p].tracks;
    for (uint32_t t = 0; t < tracks.size(); ++t) {
      if (tracks[t].kind != TrackKind::kCollectives) continue;
      for (uint32_t l = 0; l < tracks[t].lanes.size(); ++l) {
        const auto& slices = tracks[t].lanes[l].slices;
        const auto found = std::ranges::find(slices, id.value(), &Slice::id);
        if (found != slices.end()) return SliceRef{p, t, l, static_cast<uint32_t>(found - slices.begin())};
      }
    }
  }
  return std::nullopt;
}

}  // namespace timeline
}  // namespace plumb
