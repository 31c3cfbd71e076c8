// SPDX-License-Identifier: Apache-2.0
// libcublasLt: creation of descriptors and the reading and writing of their attributes.
#include "workloads/softcuda/cublas/lt_descriptors.h"

#include <cstddef>
#include <cstring>
#include <new>

using namespace softcublas;

namespace {

struct Attribute {
  int id;
  size_t offset;
  size_t size;
};
#define ATTRIBUTE(ID, TYPE, MEMBER) \
  Attribute { ID, offsetof(TYPE, MEMBER), sizeof(TYPE::MEMBER) }

constexpr Attribute kLayout[] = {
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_TYPE, MatrixLayout, type),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ORDER, MatrixLayout, order),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ROWS, MatrixLayout, rows),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_COLS, MatrixLayout, columns),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_LD, MatrixLayout, ld),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, MatrixLayout, batch_count),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, MatrixLayout, batch_stride),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, MatrixLayout, plane_offset),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, MatrixLayout, batch_mode),
};

constexpr Attribute kDescriptor[] = {
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, MatmulDescriptor, compute_type),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_SCALE_TYPE, MatmulDescriptor, scale_type),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_POINTER_MODE, MatmulDescriptor, pointer_mode),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSA, MatmulDescriptor, transpose_a),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSB, MatmulDescriptor, transpose_b),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSC, MatmulDescriptor, transpose_c),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_FILL_MODE, MatmulDescriptor, fill_mode),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE, MatmulDescriptor, epilogue),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_POINTER, MatmulDescriptor, bias),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, MatmulDescriptor, bias_batch_stride),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, MatmulDescriptor, aux),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, MatmulDescriptor, aux_ld),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, MatmulDescriptor, aux_batch_stride),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, MatmulDescriptor, alpha_batch_stride),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, MatmulDescriptor, sm_count_target),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, MatmulDescriptor, a_scale),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, MatmulDescriptor, b_scale),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, MatmulDescriptor, c_scale),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, MatmulDescriptor, d_scale),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, MatmulDescriptor, amax_d),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, MatmulDescriptor, aux_type),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, MatmulDescriptor, aux_scale),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, MatmulDescriptor, aux_amax),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_FAST_ACCUM, MatmulDescriptor, fast_accumulation),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, MatmulDescriptor, bias_type),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, MatmulDescriptor, a_scale_mode),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, MatmulDescriptor, b_scale_mode),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, MatmulDescriptor, c_scale_mode),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, MatmulDescriptor, d_scale_mode),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, MatmulDescriptor, aux_scale_mode),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, MatmulDescriptor, d_out_scale),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, MatmulDescriptor, d_out_scale_mode),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, MatmulDescriptor, emulation),
};

constexpr Attribute kPreference[] = {
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_SEARCH_MODE, MatmulPreference, search_mode),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, MatmulPreference, max_workspace),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, MatmulPreference, reduction_mask),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, MatmulPreference, alignment_a),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, MatmulPreference, alignment_b),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, MatmulPreference, alignment_c),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, MatmulPreference, alignment_d),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, MatmulPreference, max_waves),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_IMPL_MASK, MatmulPreference, implementation_mask),
};
#undef ATTRIBUTE

template <size_t N>
const Attribute* find(const Attribute (&table)[N], int id) {
  for (const Attribute& attribute : table) {
    if (attribute.id == id) {
      return &attribute;
    }
  }
  return nullptr;
}

template <size_t N>
cublasStatus_t setAttribute(const Attribute (&table)[N], void* object, int id, const void* value, size_t size) {
  const Attribute* const attribute = find(table, id);
  if (!object || !value || !attribute || size != attribute->size) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(static_cast<char*>(object) + attribute->offset, value, attribute->size);
  return CUBLAS_STATUS_SUCCESS;
}

// NVIDIA's library insists on the exact size; with a size of 0 it only reports which one that is.
template <size_t N>
cublasStatus_t getAttribute(const Attribute (&table)[N], const void* object, int id, void* value, size_t size,
                            size_t* written) {
  const Attribute* const attribute = find(table, id);
  if (!object || !attribute || (size == 0 && !written) || (size != 0 && (!value || size != attribute->size))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (written) {
    *written = attribute->size;
  }
  if (size != 0) {
    std::memcpy(value, static_cast<const char*>(object) + attribute->offset, attribute->size);
  }
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Handle, typename Opaque>
cublasStatus_t create(Handle* handle) {
  if (!handle) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *handle = new (std::nothrow) Opaque{};
  return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size, cudaDataType type,
                                                 uint64_t rows, uint64_t columns, int64_t ld) {
  if (!layout || size < sizeof(cublasLtMatrixLayoutOpaque_t)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *layout = {};
  MatrixLayout value{};
  value.type = static_cast<uint32_t>(type);
  value.order = CUBLASLT_ORDER_COL;
  value.rows = rows;
  value.columns = columns;
  value.ld = ld;
  value.batch_count = 1;
  view(layout) = value;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
  const cublasStatus_t status = create<cublasLtMatrixLayout_t, cublasLtMatrixLayoutOpaque_t>(layout);
  return status == CUBLAS_STATUS_SUCCESS
             ? cublasLtMatrixLayoutInit_internal(*layout, sizeof(cublasLtMatrixLayoutOpaque_t), type, rows, columns, ld)
             : status;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t id,
                                                const void* value, size_t size) {
  return setAttribute(kLayout, layout, id, value, size);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t id,
                                                void* value, size_t size, size_t* written) {
  return getAttribute(kLayout, layout, id, value, size, written);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t descriptor, size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  if (!descriptor || size < sizeof(cublasLtMatmulDescOpaque_t)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *descriptor = {};
  MatmulDescriptor value{};
  value.compute_type = compute;
  value.scale_type = scale;
  value.pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  value.transpose_a = value.transpose_b = value.transpose_c = CUBLAS_OP_N;
  value.fill_mode = CUBLAS_FILL_MODE_FULL;
  value.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  value.aux_type = value.bias_type = -1;
  view(descriptor) = value;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  const cublasStatus_t status = create<cublasLtMatmulDesc_t, cublasLtMatmulDescOpaque_t>(descriptor);
  return status == CUBLAS_STATUS_SUCCESS
             ? cublasLtMatmulDescInit_internal(*descriptor, sizeof(cublasLtMatmulDescOpaque_t), compute, scale)
             : status;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  delete descriptor;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t id,
                                              const void* value, size_t size) {
  return setAttribute(kDescriptor, descriptor, id, value, size);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t id,
                                              void* value, size_t size, size_t* written) {
  return getAttribute(kDescriptor, descriptor, id, value, size, written);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, size_t size) {
  if (!preference || size < sizeof(cublasLtMatmulPreferenceOpaque_t)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *preference = {};
  MatmulPreference value{};
  value.search_mode = CUBLASLT_SEARCH_BEST_FIT;
  value.reduction_mask = CUBLASLT_REDUCTION_SCHEME_MASK;
  value.alignment_a = value.alignment_b = value.alignment_c = value.alignment_d = 256;
  value.implementation_mask = ~uint64_t{0};
  view(preference) = value;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  const cublasStatus_t status = create<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceOpaque_t>(preference);
  return status == CUBLAS_STATUS_SUCCESS
             ? cublasLtMatmulPreferenceInit_internal(*preference, sizeof(cublasLtMatmulPreferenceOpaque_t))
             : status;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t id, const void* value,
                                                    size_t size) {
  return setAttribute(kPreference, preference, id, value, size);
}

cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t id, void* value, size_t size,
                                                    size_t* written) {
  return getAttribute(kPreference, preference, id, value, size, written);
}

}  // extern "C"
