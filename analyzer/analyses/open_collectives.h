// SPDX-License-Identifier: Apache-2.0
// Records of collectives that had not ended when the file did, tied to what the run hangs in, and their place on a
// timeline. Of a flight recorder's dumps: those that are not completed. Of a recording: the calls of stuck collectives
// that no kernel ended; without a hang none, since a recording that is cut off loses its last kernels.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/stuck_collectives.h"
#include "analyzer/analyses/timeline_data.h"
#include "analyzer/trace/trace.h"

namespace plumb {

struct OpenCollective {
  CollectiveId id;
  std::optional<size_t> stuck;  // index into StuckAnalysis::collectives; none: queued behind one, or nothing is known
  std::string note;             // why it has not ended, one sentence without a full stop
};

// By id.
[[nodiscard]] Result<std::vector<OpenCollective>> findOpenCollectives(Trace& trace, const StuckAnalysis& stuck);

namespace timeline {

// Makes the slices of these collectives kStuck ones, which reach to the end of the timeline (when that is near, the end
// is moved a tenth of the extent away: nobody knows when such a wait ended). Slices that a kernel ended stay as they
// are. Returns how many were changed.
size_t showOpenCollectives(Timeline& timeline, const std::vector<OpenCollective>& open);

// Where a collective is; none when it has no slice.
[[nodiscard]] std::optional<SliceRef> sliceOfCollective(const Timeline& timeline, CollectiveId id);

}  // namespace timeline
}  // namespace plumb
