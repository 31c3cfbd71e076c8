// SPDX-License-Identifier: Apache-2.0
#include "plugins/cublas/lt_shape.h"

namespace plumb::cublas {
namespace {

template <class T>
bool get(abi::LtGetAttribute getter, void* object, int attribute, T& value) noexcept {
  size_t written = 0;
  return object && getter(object, attribute, &value, sizeof value, &written) == 0;
}

}  // namespace

bool readLtShape(const LtGetters& getters, void* desc, void* a, void* b, void* d, Gemm& out) noexcept {
  out = Gemm{};
  out.batch = 1;
  if (!getters.layout || !getters.desc) {
    return false;
  }
  uint64_t rowsD = 0;
  uint64_t columnsD = 0;
  uint64_t rowsA = 0;
  uint64_t columnsA = 0;
  int32_t batch = 1;
  int32_t compute = abi::kCompute32F;
  const bool known =
      get(getters.layout, d, abi::kLayoutRows, rowsD) && get(getters.layout, d, abi::kLayoutColumns, columnsD) &&
      get(getters.layout, a, abi::kLayoutRows, rowsA) && get(getters.layout, a, abi::kLayoutColumns, columnsA) &&
      get(getters.layout, a, abi::kLayoutType, out.typeA) && get(getters.layout, b, abi::kLayoutType, out.typeB) &&
      get(getters.layout, d, abi::kLayoutType, out.typeC) &&
      get(getters.desc, desc, abi::kDescTransposeA, out.transposeA) &&
      get(getters.desc, desc, abi::kDescTransposeB, out.transposeB);
  if (!known) {
    return false;
  }
  if (get(getters.layout, d, abi::kLayoutBatchCount, batch) && batch > 0) {
    out.batch = batch;
  }
  get(getters.desc, desc, abi::kDescComputeType, compute);
  out.compute = compute;
  out.m = static_cast<int64_t>(rowsD);
  out.n = static_cast<int64_t>(columnsD);
  out.k = static_cast<int64_t>(out.transposeA ? rowsA : columnsA);
  return true;
}

}  // namespace plumb::cublas
