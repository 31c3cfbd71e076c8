// SPDX-License-Identifier: Apache-2.0
// What a host thread was doing at each moment: the CUDA call, and the innermost range, operator or Python call around
// it. Only what meets the moments of interest is kept, so that a large trace costs what is asked of it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// True for calls that return only when work on the device is done: waits, and copies that are not asynchronous.
[[nodiscard]] bool isBlockingCall(std::string_view apiName);

struct HostMoment {
  Interval time;
  StringId call = {};       // outermost API call; 0: none
  StringId range = {};      // innermost range, operator or Python call; 0: none
  StringId osCall = {};     // of the operating system's library; 0: none, or not asked for
  bool isBlocked = false;   // in a wait, or in a copy that blocks
  bool isLoading = false;   // some range around it fetches data
  bool isRecorded = false;  // in anything
};

// Flags: without the names of calls and ranges, for which far fewer rows have to be read. All: with calls of the
// operating system's library, too.
enum class HostDetail : uint8_t { Names, Flags, All };

class HostActivity {
 public:
  using Moments = std::map<ThreadId, IntervalSet>;
  [[nodiscard]] static Result<HostActivity> load(Trace& trace, const Moments& interest,
                                                 HostDetail detail = HostDetail::Names);
  // The moments of the thread inside the window, in order; where nothing was recorded there is none.
  void forEach(ThreadId thread, Interval window, const std::function<void(const HostMoment&)>& take) const;

 private:
  std::map<ThreadId, std::vector<HostMoment>> m_moments;  // disjoint, in order
};

}  // namespace plumb
