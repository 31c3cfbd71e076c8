// SPDX-License-Identifier: Apache-2.0
// What a timeline shows, as plain data in memory: tracks of lanes of slices. No SQL, no Qt.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plumb::timeline {

enum class SliceKind : uint8_t {
  kStep,
  kRange,
  kApiCall,
  kSynchronization,
  kKernel,
  kCommunication,
  kCopy,
  kSet,
  kCollective,
  kOsCall,
  kStuck  // a collective that had not ended when the recording did: it reaches to the end
};

// One event. Half-open: [startNs, startNs + durationNs); a mark has duration 0.
struct Slice {
  int64_t startNs = 0;
  int64_t durationNs = 0;
  int64_t id = 0;            // of the event in its table
  int64_t correlation = -1;  // CUPTI's, within the process; -1: none
  uint32_t name = 0;         // index into Timeline::names
  uint32_t note = 0;         // index into Timeline::names: bytes, grid, …; 0: nothing
  SliceKind kind = SliceKind::kRange;

  [[nodiscard]] int64_t endNs() const noexcept { return startNs + durationNs; }
};

// Slices that never overlap, by start. busyBefore[i] is the summed duration of the slices before i (size() + 1
// entries), so that the covered share of any span is two look-ups.
struct Lane {
  std::vector<Slice> slices;
  std::vector<int64_t> busyBefore;
};

// kProjection: a thread's ranges at the time when the work launched in them ran on the device.
enum class TrackKind : uint8_t { kSteps, kRanges, kApiCalls, kOsCalls, kProjection, kStream, kCollectives };

struct Track {
  TrackKind kind = TrackKind::kStream;
  std::string label;  // "stream 7", "thread 4242"
  int64_t processId = 0;
  int64_t key = 0;  // thread_id, stream_id or communicator: what tells tracks of one kind apart
  std::vector<Lane> lanes;
};

// One process, with its tracks in the order in which they are shown.
struct Process {
  int64_t id = 0;
  int64_t pid = 0;
  std::optional<int64_t> rank;
  std::string label;  // "rank 0 · fsdp · pid 4242"
  std::vector<Track> tracks;
};

// Where a slice is: positions in Timeline::processes, Process::tracks, Track::lanes, Lane::slices.
struct SliceRef {
  uint32_t process = 0;
  uint32_t track = 0;
  uint32_t lane = 0;
  uint32_t index = 0;
  friend bool operator==(const SliceRef&, const SliceRef&) = default;
};

struct Window {
  int64_t startNs = 0;
  int64_t endNs = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

// A named step of one process.
struct Step {
  int64_t processId = 0;
  int64_t number = 0;
  Window window;
};

// Ties the host call and the work of one correlation id together; sorted by (process, correlation).
struct Link {
  uint32_t process = 0;
  int64_t correlation = 0;
  SliceRef slice;
  bool isHost = false;
};

struct Timeline {
  std::vector<std::string> names{std::string()};  // 0: the empty text
  std::vector<Process> processes;
  std::vector<Step> steps;
  std::vector<Link> links;
  std::vector<std::string> devices;  // one text a distinct device: its name and kind
  Window extent;                     // of all slices
  size_t sliceCount = 0;
  size_t untimedCount = 0;  // events left out because CUPTI gave them no usable time
  bool softwareDevice = false;
  bool communicationByName = false;  // of some process: it has no collective records that lead to kernels

  [[nodiscard]] const Slice& slice(const SliceRef& ref) const {
    return processes[ref.process].tracks[ref.track].lanes[ref.lane].slices[ref.index];
  }
  [[nodiscard]] const Track& track(const SliceRef& ref) const { return processes[ref.process].tracks[ref.track]; }
};

// Puts slices into as few lanes as keep overlapping ones apart; nested ones come to lie below what encloses them.
// Nothing is left out. O(n log n).
[[nodiscard]] std::vector<Lane> assignLanes(std::vector<Slice> slices);

// A span of device work and the correlation id of the call that launched it.
struct LaunchedWork {
  int64_t correlation = 0;
  Window device;
};

// The ranges of a thread as the device saw them: from the first start to the last end of the work whose launch call, on
// that thread, began inside the range. Ranges that launched nothing are left out. work must be sorted by correlation.
[[nodiscard]] std::vector<Slice> projectRanges(std::vector<Slice> ranges, const std::vector<Slice>& calls,
                                               const std::vector<LaunchedWork>& work);

// Fills Lane::busyBefore.
void indexLane(Lane& lane);

// Fills links, extent and sliceCount from the processes.
void indexTimeline(Timeline& timeline);

// What is tied to a slice by its correlation id: of a host call its device work, of device work its host call.
[[nodiscard]] std::vector<SliceRef> linkedSlices(const Timeline& timeline, const SliceRef& ref);

// Where events are: the extent without what lies so far from most of the work on devices (without any: from most of all
// events) that what is between them, where nothing at all happens, would fill more than a third of a picture. Such are
// the mark of a profiler's end and the events of a file on a clock of its own.
struct MainPart {
  Window window;
  size_t before = 0, after = 0;  // slices outside
  bool isOfDeviceWork = false;   // false: of all events
};
[[nodiscard]] MainPart mainPart(const Timeline& timeline);

// A time span that shows a training run in its stride: the step of median length, the first one (often warm-up) left
// out, of the first process that has steps, over all processes that take it then; without steps the main part.
[[nodiscard]] Window steadyWindow(const Timeline& timeline);

[[nodiscard]] bool isDeviceWork(SliceKind kind) noexcept;
[[nodiscard]] const char* kindName(SliceKind kind) noexcept;

}  // namespace plumb::timeline
