// SPDX-License-Identifier: Apache-2.0
// What a host wait costs after its own gap. A wait empties the device's queue; the host then launches without a lead,
// and until it has caught up every gap in which its launches are late is the wait's doing: without the wait it would
// have been earlier by the wait's length (its lead), which hides that much of later launch-bound time. The leads of
// several waits add up, as if all were left out; late time is charged to the last wait before it whose lead is not used
// up. A lead is at most the time in which the host launches as much as a queue holds. A thread takes the lead of
// another one's wait when it launched nothing meanwhile, as it may have waited for that thread.
#pragma once
#include <vector>

#include "analyzer/analyses/idle.h"
#include "analyzer/analyses/launches.h"

namespace plumb {

struct LeadOfWait {
  ThreadId thread;
  Interval time;
  Duration lead;    // the wait's length less what it cost in its own gap
  Duration refill;  // of the lead: idle time of later gaps that it would have hidden
};

// Adds to `refill` of the waits, which are the process's, by end of their time.
void chargeRefill(const DeviceIdle& device, const LaunchIndex& launches, std::vector<LeadOfWait>& waits);

}  // namespace plumb
