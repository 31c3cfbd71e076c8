// SPDX-License-Identifier: Apache-2.0
#include "plugins/cublas/lane.h"

namespace plumb::cublas {
namespace {

thread_local bool t_isInside = false;

}  // namespace

Lane& lane() noexcept {
  static constinit Lane theLane;
  return theLane;
}

bool isNested() noexcept { return t_isInside || !lane().isOn.load(std::memory_order_relaxed); }

Recording::Recording(const char* name, const Gemm& gemm, int mathMode) noexcept : m_gemm(gemm) {
  const Host host = lane().host;
  m_names = {host.intern(name), host.intern(dataTypeName(gemm.typeA)), host.intern(dataTypeName(gemm.typeB)),
             host.intern(dataTypeName(gemm.typeC)), host.intern(computeTypeName(gemm.compute, gemm.typeA, mathMode))};
  m_externalId = host.nextId();
  t_isInside = true;
  host.raw()->push_correlation(m_externalId);
  m_startNs = monotonicNowNs();
}

Recording::~Recording() {
  const int64_t endNs = monotonicNowNs();
  const Host host = lane().host;
  host.raw()->pop_correlation();
  t_isInside = false;
  host.write(convertGemm(m_gemm, m_names, host.threadId(), m_externalId, m_startNs, endNs));
}

}  // namespace plumb::cublas
