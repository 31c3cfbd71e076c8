// SPDX-License-Identifier: Apache-2.0
// How much of the machine other programs took, from Linux's accounts: what a claim about times needs to know before it
// calls a wrong number a fault.
#pragma once
#include <chrono>
#include <optional>
#include <string>

namespace plumb::nn {

// CPU seconds since the machine was started, of all its cores together.
struct CoreTimes {
  double busy = 0.0;
  double idle = 0.0;
};

// From the text of /proc/stat; nothing when it is not understood.
std::optional<CoreTimes> parseCoreTimes(const std::string& text);

// CPU seconds of this process and its threads.
double ownCpuSeconds();

// What happened to the cores between two moments.
struct HostLoad {
  double cores = 0.0;   // that the machine has
  double others = 0.0;  // of them taken by other programs, on average
  double idle = 0.0;    // of them unused

  // Whoever wanted a core had to wait for other programs: they took a tenth of one at least, and less than half a core
  // was left over.
  [[nodiscard]] bool busy() const { return others > 0.1 && idle < 0.5; }
  [[nodiscard]] std::string describe() const;  // "other programs took 1.7 of 2 cores"
};

// The load from when it is made until load() is called.
class HostLoadMeter {
 public:
  HostLoadMeter();
  // peersCpuSeconds: what other processes of the same run have used meanwhile. Waits until a tenth of a second has
  // passed since the start. Without Linux's accounts the load average stands in for the programs that wanted a core.
  [[nodiscard]] HostLoad load(double peersCpuSeconds = 0.0) const;

 private:
  std::chrono::steady_clock::time_point m_started = std::chrono::steady_clock::now();
  std::optional<CoreTimes> m_start;
  double m_ownStart;
};

}  // namespace plumb::nn
