// SPDX-License-Identifier: Apache-2.0
// What every stand-in does around the real call. Any thread; nothing allocates or locks.
#pragma once
#include <atomic>

#include "collector/api/plugin.hpp"
#include "plugins/cublas/convert.h"

namespace plumb::cublas {

struct Lane {
  Host host;
  std::atomic<bool> isOn{false};
};

Lane& lane() noexcept;

// True while this thread is inside a recorded call: cuBLAS calls itself (cublasGemmEx -> cublasLtMatmul), and only the
// outermost call is the program's.
bool isNested() noexcept;

// Brackets the real call: links what is launched inside to it and writes the record when it is destroyed.
class Recording {
 public:
  Recording(const char* name, const Gemm& gemm, int mathMode) noexcept;
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  Gemm m_gemm;
  Names m_names;
  uint64_t m_externalId;
  int64_t m_startNs;
};

}  // namespace plumb::cublas
