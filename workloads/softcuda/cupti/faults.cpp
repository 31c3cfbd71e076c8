// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cupti/faults.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace softcuda {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kEarlyByNs = 1'000'000;

struct Description {
  const char* name;
  const char* valueName;  // null: it has none
  uint64_t value;         // unless the list says otherwise
  uint64_t every;
};
constexpr Description kDescriptions[] = {
    {"bad_times", nullptr, 0, 1},
    {"impossible_times", nullptr, 0, 1},
    {"early_kernels", nullptr, 0, 1},
    {"no_names", nullptr, 0, 1},
    {"strange_threads", nullptr, 0, 1},
    {"drop", nullptr, 0, 10},
    {"unknown_records", nullptr, 0, 100},
    {"twice", nullptr, 0, 1},
    {"late_flush", nullptr, 0, 1},
    {"shifted_epoch", "by", 3600, 1},
    {"second_subscriber", nullptr, 0, 1},
    {"refuse", "code", CUPTI_ERROR_UNKNOWN, 1},
    {"refuse_kind", "kind", CUPTI_ACTIVITY_KIND_MEMORY2, 1},
};
static_assert(std::size(kDescriptions) == static_cast<std::size_t>(Fault::kCount));

// Takes what comes before the separator off the text.
std::string_view take(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(part.size() < text.size() ? part.size() + 1 : text.size());
  return part;
}

void complain(std::string_view item) {
  std::string known;
  for (const Description& d : kDescriptions) known += std::string(known.empty() ? "" : ", ") + d.name;
  std::fprintf(stderr, "softcuda: SOFTCUDA_FAULTS: '%.*s' is not understood and left out; faults are %s\n",
               static_cast<int>(item.size()), item.data(), known.c_str());
}

}  // namespace

Faults::Faults(std::string_view list) {
  while (!list.empty()) {
    if (const std::string_view item = take(list, ','); !item.empty()) read(item);
  }
}

// Leaked: records are written until the process is gone.
Faults& Faults::ofEnvironment() {
  static auto* instance = [] {
    const char* list = std::getenv("SOFTCUDA_FAULTS");
    return new Faults(list ? list : "");
  }();
  return *instance;
}

void Faults::read(std::string_view item) {
  std::string_view rest = item;
  const std::string_view name = take(rest, ':');
  std::size_t index = 0;
  while (index < std::size(kDescriptions) && kDescriptions[index].name != name) ++index;
  if (index == std::size(kDescriptions)) return complain(item);
  const Description& description = kDescriptions[index];
  uint64_t after = 0;
  uint64_t every = description.every;
  uint64_t value = description.value;
  while (!rest.empty()) {
    std::string_view number = take(rest, ':');
    const std::string_view key = take(number, '=');
    uint64_t* target = key == "after"                                          ? &after
                       : key == "every"                                        ? &every
                       : description.valueName && key == description.valueName ? &value
                                                                               : nullptr;
    const char* end = number.data() + number.size();
    if (!target || std::from_chars(number.data(), end, *target).ptr != end || number.empty()) return complain(item);
  }
  if (every == 0) return complain(item);
  Setting& setting = m_settings[index];
  setting.on = true;
  setting.after = after;
  setting.every = every;
  setting.value = value;
  m_any = true;
}

bool Faults::due(Fault fault) {
  Setting& setting = m_settings[static_cast<std::size_t>(fault)];
  if (!setting.on) return false;
  const uint64_t occasion = setting.occasions.fetch_add(1, std::memory_order_relaxed) + 1;
  return occasion > setting.after && (occasion - setting.after) % setting.every == 0;
}

Faults::Times Faults::damaged(Times times) {
  if (due(Fault::kShiftedEpoch)) {
    times.start += value(Fault::kShiftedEpoch) * kNsPerSecond;
    times.end += value(Fault::kShiftedEpoch) * kNsPerSecond;
  }
  if (due(Fault::kEarlyKernels)) {
    times.start -= kEarlyByNs;
    times.end -= kEarlyByNs;
  }
  if (due(Fault::kImpossibleTimes)) times = {times.end, times.start - 1};
  if (due(Fault::kBadTimes)) times = {0, 0};
  return times;
}

}  // namespace softcuda
