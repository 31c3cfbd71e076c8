// SPDX-License-Identifier: Apache-2.0
// What communication held up. Of a moment in which a collective ran and nothing computed:
//   held up         the device's next work that is no communication was launched already (its call had returned), or
//                   the thread that launched it was in a wait for the device that lasted as long as the collective; or
//                   no work follows, so that the collective ends what was recorded
//   launch unknown  the call that launched the next work is not in the trace
//   else            the host had not launched that work yet: without the collective the device would have been idle
// The next work is what begins first after the collective, with all that begins until that ends.
#pragma once
#include <unordered_map>
#include <vector>

#include "analyzer/analyses/device_events.h"
#include "analyzer/analyses/host_activity.h"
#include "analyzer/analyses/launches.h"

namespace plumb {

class HeldUpWork {
 public:
  // `timelines` must outlive it.
  [[nodiscard]] static Result<HeldUpWork> load(Trace& trace, const std::vector<DeviceTimeline>& timelines);

  struct Split {
    Duration heldUp, launchUnknown;
  };
  // `exposed`: moments of the collective, an event of the timeline.
  [[nodiscard]] Split split(const DeviceTimeline& timeline, const DeviceEvent& collective,
                            const IntervalSet& exposed) const;

 private:
  // The device's next work after a moment.
  struct Next {
    bool isThere = false;
    const Launch* launch = nullptr;      // of the one that begins first
    TimePoint launched{kLargestTimeNs};  // when the first of their calls returned
  };
  using Works = std::vector<const DeviceEvent*>;  // that are no communication, by start
  [[nodiscard]] Next nextAfter(const DeviceTimeline& timeline, TimePoint time) const;

  LaunchIndex m_launches;
  HostActivity m_activity;
  std::unordered_map<const DeviceTimeline*, Works> m_works;
};

}  // namespace plumb
