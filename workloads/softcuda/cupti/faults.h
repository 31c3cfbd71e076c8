// SPDX-License-Identifier: Apache-2.0
// SOFTCUDA_FAULTS: makes this libcupti misbehave as real ones were seen to, so that a collector can be tested against
// it.
#pragma once
#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace softcuda {

enum class Fault : uint8_t {
  kBadTimes,          // GPU records without times: start and end are 0
  kImpossibleTimes,   // GPU records that end before they start
  kEarlyKernels,      // GPU records that start 1 ms before their launch
  kNoNames,           // kernels without a name
  kStrangeThreads,    // API calls of a thread that does not exist
  kDrop,              // records that are dropped, and counted
  kUnknownRecords,    // a record of an unknown kind in between
  kTwice,             // buffers that are given back a second time
  kLateFlush,         // only a forced flush gives buffers back that are not full
  kShiftedEpoch,      // records whose times are `by` seconds after CUPTI's clock
  kSecondSubscriber,  // somebody else has subscribed
  kRefuse,            // cuptiSubscribe fails with `code`
  kRefuseKind,        // cuptiActivityEnable fails for the activity kind `kind`
  kCount
};

// A list such as "drop:every=10,bad_times:after=100". `after`: the first that many occasions are spared; `every`: of
// the others one in that many is hit. What is not understood is said on stderr and left out.
class Faults {
 public:
  explicit Faults(std::string_view list);
  static Faults& ofEnvironment();

  bool any() const { return m_any; }
  bool on(Fault fault) const { return setting(fault).on; }
  uint64_t value(Fault fault) const { return setting(fault).value; }  // by, code, kind
  bool due(Fault fault);                                              // counts an occasion; thread-safe

  // Damages a record. False: it is to be dropped.
  template <class Record>
  bool apply(Record& record) {
    if constexpr (std::is_same_v<Record, CUpti_ActivityKernel10>) {
      if (due(Fault::kNoNames)) record.name = nullptr;
    }
    if constexpr (std::is_same_v<Record, CUpti_ActivityKernel10> || std::is_same_v<Record, CUpti_ActivityMemcpy6> ||
                  std::is_same_v<Record, CUpti_ActivityMemset4>) {
      const Times times = damaged({record.start, record.end});  // the fields are packed
      record.start = times.start;
      record.end = times.end;
    }
    if constexpr (std::is_same_v<Record, CUpti_ActivityAPI>) {
      if (due(Fault::kStrangeThreads)) record.threadId = 0xfffffff0u;
    }
    return !due(Fault::kDrop);
  }

 private:
  struct Setting {
    bool on = false;
    uint64_t after = 0;
    uint64_t every = 1;
    uint64_t value = 0;
    std::atomic<uint64_t> occasions{0};
  };
  const Setting& setting(Fault fault) const { return m_settings[static_cast<std::size_t>(fault)]; }
  void read(std::string_view item);
  struct Times {
    uint64_t start;
    uint64_t end;
  };
  Times damaged(Times times);

  std::array<Setting, static_cast<std::size_t>(Fault::kCount)> m_settings;
  bool m_any = false;
};

}  // namespace softcuda
