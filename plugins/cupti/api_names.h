// SPDX-License-Identifier: Apache-2.0
// Names of CUDA API functions by CUPTI's callback id.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/api/plugin.hpp"
#include "plugins/cupti/cupti_table.h"

namespace plumb::cupti {

// What a person calls the function: "__cudaLaunchKernel_ptsz_v13000" -> "cudaLaunchKernel", "cuMemAlloc_v2" ->
// "cuMemAlloc". Returns the length of the text that was written to out (no terminating zero).
size_t plainApiName(const char* cuptiName, char* out, size_t outBytes) noexcept;

// Looks a name up once per id; after that one atomic load. Any thread.
class ApiNames {
 public:
  StringId runtime(const CuptiTable& table, Host host, uint32_t cbid) noexcept {
    return find(table, host, CUPTI_CB_DOMAIN_RUNTIME_API, cbid, m_runtime);
  }
  StringId driver(const CuptiTable& table, Host host, uint32_t cbid) noexcept {
    return find(table, host, CUPTI_CB_DOMAIN_DRIVER_API, cbid, m_driver);
  }

 private:
  static constexpr uint32_t kCapacity = 2048;
  StringId find(const CuptiTable& table, Host host, CUpti_CallbackDomain domain, uint32_t cbid,
                std::atomic<StringId> (&names)[kCapacity]) noexcept;

  std::atomic<StringId> m_runtime[kCapacity]{};
  std::atomic<StringId> m_driver[kCapacity]{};
};

}  // namespace plumb::cupti
