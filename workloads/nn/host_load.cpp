// SPDX-License-Identifier: Apache-2.0
#include "workloads/nn/host_load.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace plumb::nn {
namespace {

// The accounts are kept in steps of 10 ms, so that less says nothing.
constexpr std::chrono::milliseconds kResolved{100};

std::optional<CoreTimes> readCoreTimes() {
  std::ifstream file("/proc/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return parseCoreTimes(text);
}

double coresOfMachine() { return std::max(1.0, static_cast<double>(std::thread::hardware_concurrency())); }

HostLoad fromLoadAverage() {
  double average = 0.0;
  const double cores = coresOfMachine();
  if (getloadavg(&average, 1) != 1) return {cores, 0.0, cores};
  return {cores, std::min(average, cores), std::max(0.0, cores - average)};
}

}  // namespace

std::optional<CoreTimes> parseCoreTimes(const std::string& text) {
  std::istringstream words(text);
  std::string name;
  words >> name;
  if (name != "cpu") return std::nullopt;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, stolen = 0;
  if (!(words >> user >> nice >> system >> idle >> waiting >> interrupts >> soft)) return std::nullopt;
  words >> stolen;  // by the machine that this virtual one runs on
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return CoreTimes{(user + nice + system + interrupts + soft + stolen) / ticks, (idle + waiting) / ticks};
}

double ownCpuSeconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

std::string HostLoad::describe() const {
  return fmt::format("other programs took {:.1f} of {:.0f} cores", others, cores);
}

HostLoadMeter::HostLoadMeter() : m_start(readCoreTimes()), m_ownStart(ownCpuSeconds()) {}

HostLoad HostLoadMeter::load(double peersCpuSeconds) const {
  std::this_thread::sleep_until(m_started + kResolved);
  const std::optional<CoreTimes> end = readCoreTimes();
  if (!m_start || !end) return fromLoadAverage();
  const double busy = end->busy - m_start->busy, idle = end->idle - m_start->idle, cores = coresOfMachine();
  const double seconds = (busy + idle) / cores;
  if (seconds <= 0.0) return fromLoadAverage();
  const double own = ownCpuSeconds() - m_ownStart + peersCpuSeconds;
  return {cores, std::max(0.0, busy - own) / seconds, std::max(0.0, idle) / seconds};
}

}  // namespace plumb::nn
