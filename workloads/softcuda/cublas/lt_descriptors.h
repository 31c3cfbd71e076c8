// SPDX-License-Identifier: Apache-2.0
// libcublasLt's descriptors. Each lives inside the opaque struct of the public header, so that the caller may also keep
// it on the stack (cublasLt…Init).
#pragma once
#include <cublasLt.h>

#include <cstdint>

namespace softcublas {

struct MatrixLayout {
  uint32_t type;  // cudaDataType
  int32_t order;
  uint64_t rows;
  uint64_t columns;
  int64_t ld;
  int32_t batch_count;
  uint32_t batch_mode;
  int64_t batch_stride;
  int64_t plane_offset;
};

struct MatmulDescriptor {
  int32_t compute_type;
  int32_t scale_type;
  int32_t pointer_mode;
  int32_t transpose_a, transpose_b, transpose_c;
  int32_t fill_mode;
  uint32_t epilogue;
  const void* bias;
  int64_t bias_batch_stride;
  void* aux;
  int64_t aux_ld;
  int64_t aux_batch_stride;
  int64_t alpha_batch_stride;
  int32_t sm_count_target;
  int32_t aux_type;
  const void *a_scale, *b_scale, *c_scale, *d_scale;
  void* amax_d;
  void *aux_scale, *aux_amax;
  int32_t bias_type;
  int32_t a_scale_mode, b_scale_mode, c_scale_mode, d_scale_mode, aux_scale_mode;
  void* d_out_scale;
  int32_t d_out_scale_mode;
  int8_t fast_accumulation;
  void* emulation;
};

struct MatmulPreference {
  uint32_t search_mode;
  uint32_t reduction_mask;
  uint64_t max_workspace;
  uint32_t alignment_a, alignment_b, alignment_c, alignment_d;
  float max_waves;
  uint64_t implementation_mask;
};

static_assert(sizeof(MatrixLayout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(MatmulDescriptor) <= sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(MatmulPreference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));

inline MatrixLayout& view(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<MatrixLayout*>(layout); }
inline MatmulDescriptor& view(cublasLtMatmulDesc_t descriptor) {
  return *reinterpret_cast<MatmulDescriptor*>(descriptor);
}
inline MatmulPreference& view(cublasLtMatmulPreference_t preference) {
  return *reinterpret_cast<MatmulPreference*>(preference);
}

}  // namespace softcublas
