// SPDX-License-Identifier: Apache-2.0
// What a run hangs in, from a recording of its collectives (not from dumps of a flight recorder: stuck_collectives.h).
// Of each communicator the first collective that some of its recorded ranks called and others never did; sends and
// receives are left out, since their numbers differ between ranks.
//   waited  of a rank that called it: its kernel, or from the call to the end of its recording when the kernel never
//           ended
// Ranks still in flight when a recording ends are no hang: it is one when the wait lasted 100 ms and ten times as long
// as the communicator's collectives do, or when the missing rank's recording had ended before.
// A collective that all ranks called and whose kernel is missing on some is told only after 10 s: a killed process
// loses its last kernel records.
#pragma once
#include <vector>

#include "analyzer/analyses/stuck_collectives.h"

namespace plumb {

// Those with missing ranks first, then by time; of them first those of whose missing ranks none waits elsewhere.
[[nodiscard]] Result<std::vector<StuckCollective>> findStuckInRecording(Trace& trace);

}  // namespace plumb
