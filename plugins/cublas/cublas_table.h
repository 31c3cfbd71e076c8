// SPDX-License-Identifier: Apache-2.0
// The target's own cuBLAS: the functions we stand in for, and two getters beside them.
#pragma once
#include <atomic>

#include "collector/api/plugin.hpp"
#include "plugins/cublas/cublas_abi.h"

namespace plumb::cublas {

// A function of the same library as `function`, NULL if it has none of this name.
void* siblingOf(void* function, const char* name) noexcept;

// One function of the target's library, looked up once.
class Real {
 public:
  explicit constexpr Real(const char* name) noexcept : m_name(name) {}

  // NULL if the library is not loaded.
  void* get(Host host) noexcept {
    void* known = m_address.load(std::memory_order_acquire);
    if (!known) {
      known = host.raw()->real_function(m_name);
      m_address.store(known, std::memory_order_release);
    }
    return known;
  }
  // A function next to it, e.g. a getter.
  void* sibling(Host host, const char* name, std::atomic<void*>& cache) noexcept {
    void* known = cache.load(std::memory_order_acquire);
    if (!known) {
      known = siblingOf(get(host), name);
      cache.store(known, std::memory_order_release);
    }
    return known;
  }

 private:
  const char* m_name;
  std::atomic<void*> m_address{nullptr};
};

}  // namespace plumb::cublas
