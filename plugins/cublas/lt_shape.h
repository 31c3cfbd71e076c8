// SPDX-License-Identifier: Apache-2.0
// The shape of a cublasLtMatmul, read from its descriptors through cuBLASLt's own getters (host-only calls).
#pragma once
#include "plugins/cublas/convert.h"

namespace plumb::cublas {

struct LtGetters {
  abi::LtGetAttribute layout;
  abi::LtGetAttribute desc;
};

// Returns false if the getters do not answer.
bool readLtShape(const LtGetters& getters, void* desc, void* a, void* b, void* d, Gemm& out) noexcept;

}  // namespace plumb::cublas
