// SPDX-License-Identifier: Apache-2.0
#include "gui/state/evidence.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>

namespace plumb::gui {
namespace {

using timeline::SliceRef;
using timeline::TrackKind;

struct Place {
  std::string_view table;
  TrackKind track;
  timeline::SliceKind kind, otherKind;
  int64_t factor;  // of the row's id in Slice::id
};

// Operators stand among the ranges, with ids of their own (analyses/timeline.cpp).
constexpr int64_t kOperatorFactor = -2;
constexpr Place kPlaces[] = {
    {"kernel", TrackKind::kStream, timeline::SliceKind::kKernel, timeline::SliceKind::kCommunication, 1},
    {"memory_copy", TrackKind::kStream, timeline::SliceKind::kCopy, timeline::SliceKind::kCopy, 1},
    {"memory_set", TrackKind::kStream, timeline::SliceKind::kSet, timeline::SliceKind::kSet, 1},
    {"api_call", TrackKind::kApiCalls, timeline::SliceKind::kApiCall, timeline::SliceKind::kSynchronization, 1},
    {"range", TrackKind::kRanges, timeline::SliceKind::kRange, timeline::SliceKind::kRange, 1},
    {"operator", TrackKind::kRanges, timeline::SliceKind::kRange, timeline::SliceKind::kRange, kOperatorFactor},
    {"os_call", TrackKind::kOsCalls, timeline::SliceKind::kOsCall, timeline::SliceKind::kOsCall, 1},
    {"collective", TrackKind::kCollectives, timeline::SliceKind::kCollective, timeline::SliceKind::kStuck, 1}};

// A slice's id that is looked for, where, and which text asks for it.
struct Wanted {
  int64_t id;
  const Place* place;
  size_t index;
};

void ask(std::string_view text, size_t index, std::vector<Wanted>& wanted) {
  const size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return;
  const auto place = std::ranges::find(kPlaces, text.substr(0, blank), &Place::table);
  const char* end = text.data() + text.size();
  int64_t id = 0;
  if (place == std::end(kPlaces) || std::from_chars(text.data() + blank + 1, end, id).ptr != end) return;
  if (id < 0 || id > std::numeric_limits<int64_t>::max() / 2) return;  // the factor must not overflow
  wanted.push_back({id * place->factor, &*place, index});
}

}  // namespace

std::vector<std::optional<SliceRef>> findEvidence(const timeline::Timeline& timeline,
                                                  const std::vector<std::string>& evidence) {
  std::vector<std::optional<SliceRef>> found(evidence.size());
  std::vector<Wanted> wanted;
  for (size_t i = 0; i < evidence.size(); ++i) ask(evidence[i], i, wanted);
  if (wanted.empty()) return found;
  std::ranges::sort(wanted, {}, &Wanted::id);
  const auto take = [&](const timeline::Track& track, const SliceRef& ref) {
    const timeline::Slice& slice = timeline.slice(ref);
    for (const Wanted& one : std::ranges::equal_range(wanted, slice.id, {}, &Wanted::id)) {
      const Place& place = *one.place;
      const bool fits = track.kind == place.track && (slice.kind == place.kind || slice.kind == place.otherKind);
      if (fits && !found[one.index]) found[one.index] = ref;
    }
  };
  for (uint32_t p = 0; p < timeline.processes.size(); ++p) {
    const auto& tracks = timeline.processes[p].tracks;
    for (uint32_t t = 0; t < tracks.size(); ++t) {
      if (std::ranges::none_of(wanted, [&](const Wanted& one) { return one.place->track == tracks[t].kind; })) continue;
      for (uint32_t l = 0; l < tracks[t].lanes.size(); ++l) {
        const auto count = static_cast<uint32_t>(tracks[t].lanes[l].slices.size());
        for (uint32_t i = 0; i < count; ++i) take(tracks[t], {p, t, l, i});
      }
    }
  }
  return found;
}

}  // namespace plumb::gui
