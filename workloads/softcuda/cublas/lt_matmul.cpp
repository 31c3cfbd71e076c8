// SPDX-License-Identifier: Apache-2.0
// libcublasLt: handles and the matrix product with its epilogues.
#include <algorithm>
#include <climits>
#include <new>
#include <string>

#include "workloads/softcuda/cublas/arithmetic.h"
#include "workloads/softcuda/cublas/lt_descriptors.h"
#include "workloads/softcuda/cublas/status.h"
#include "workloads/softcuda/unsupported.h"

using namespace softcublas;

struct cublasLtContext {};

namespace {

constexpr uint32_t kBias = CUBLASLT_EPILOGUE_BIAS;
constexpr uint32_t kRelu = CUBLASLT_EPILOGUE_RELU;
constexpr uint32_t kGelu = CUBLASLT_EPILOGUE_GELU;

cublasStatus_t refuse(const char* what) {
  softcuda::reportUnsupported("cublasLtMatmul", what);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

int64_t rowsOf(const MatrixLayout& layout, bool transpose) {
  return static_cast<int64_t>(transpose ? layout.columns : layout.rows);
}
int64_t columnsOf(const MatrixLayout& layout, bool transpose) {
  return static_cast<int64_t>(transpose ? layout.rows : layout.columns);
}

bool validLayout(const MatrixLayout& layout) {
  const auto contiguous = static_cast<int64_t>(layout.order == CUBLASLT_ORDER_ROW ? layout.columns : layout.rows);
  return layout.ld >= std::max<int64_t>(1, contiguous) && layout.batch_count >= 1;
}

bool knownOrder(const MatrixLayout& layout) {
  return (layout.order == CUBLASLT_ORDER_COL || layout.order == CUBLASLT_ORDER_ROW) && layout.batch_mode == 0 &&
         layout.plane_offset == 0 &&
         std::max({static_cast<int64_t>(layout.rows), static_cast<int64_t>(layout.columns), layout.ld}) <= INT_MAX;
}

struct Operands {
  const MatmulDescriptor& descriptor;
  const MatrixLayout& a;
  const MatrixLayout& b;
  const MatrixLayout& c;
  const MatrixLayout& d;
};

cublasStatus_t checkEpilogue(const MatmulDescriptor& descriptor, const MatrixLayout& d) {
  if ((descriptor.epilogue & ~uint32_t{kBias | kRelu | kGelu | CUBLASLT_EPILOGUE_DEFAULT}) != 0) {
    return refuse(("epilogue " + std::to_string(descriptor.epilogue)).c_str());
  }
  if ((descriptor.epilogue & kBias) != 0 && d.order == CUBLASLT_ORDER_ROW) {
    return refuse("bias with a row-major result");
  }
  if (descriptor.a_scale || descriptor.b_scale || descriptor.c_scale || descriptor.d_scale || descriptor.amax_d ||
      descriptor.d_out_scale) {
    return refuse("scale pointers");
  }
  return CUBLAS_STATUS_SUCCESS;
}

// Translates descriptors; pointers and scalars are left to the caller.
cublasStatus_t describe(const Operands& o, Gemm& gemm) {
  if (!validLayout(o.a) || !validLayout(o.b) || !validLayout(o.c) || !validLayout(o.d)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool ta = o.descriptor.transpose_a != CUBLAS_OP_N, tb = o.descriptor.transpose_b != CUBLAS_OP_N;
  gemm.m = static_cast<int64_t>(o.d.rows);
  gemm.n = static_cast<int64_t>(o.d.columns);
  gemm.k = columnsOf(o.a, ta);
  if (rowsOf(o.a, ta) != gemm.m || columnsOf(o.b, tb) != gemm.n || rowsOf(o.b, tb) != gemm.k || o.c.rows != o.d.rows ||
      o.c.columns != o.d.columns || o.a.batch_count != o.d.batch_count || o.b.batch_count != o.d.batch_count) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!knownOrder(o.a) || !knownOrder(o.b) || !knownOrder(o.c) || !knownOrder(o.d) || o.c.order != o.d.order) {
    return refuse("matrix order, size or batch mode");
  }
  const auto ab = elementOf(static_cast<cudaDataType>(o.a.type)), d = elementOf(static_cast<cudaDataType>(o.d.type));
  const auto arithmetic =
      arithmeticOf(static_cast<cublasComputeType_t>(o.descriptor.compute_type), CUBLAS_DEFAULT_MATH);
  const auto scale = elementOf(static_cast<cudaDataType>(o.descriptor.scale_type));
  if (!ab || !d || !arithmetic || !scale || o.a.type != o.b.type || o.c.type != o.d.type ||
      !supported(*arithmetic, *ab, *d) || (*scale != arithmetic->scale && *scale != Element::kFp32)) {
    return refuse(("types A " + std::to_string(o.a.type) + ", B " + std::to_string(o.b.type) + ", C " +
                   std::to_string(o.c.type) + ", D " + std::to_string(o.d.type) + ", compute type " +
                   std::to_string(o.descriptor.compute_type))
                      .c_str());
  }
  if (const cublasStatus_t status = checkEpilogue(o.descriptor, o.d); status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  gemm.ab_type = *ab;
  gemm.c_type = *d;
  gemm.compute = computeFor(*arithmetic, *ab);
  gemm.scale_type = *scale;
  // A row-major matrix is its transpose in column-major order.
  gemm.transpose_a = ta != (o.a.order == CUBLASLT_ORDER_ROW);
  gemm.transpose_b = tb != (o.b.order == CUBLASLT_ORDER_ROW);
  gemm.lda = o.a.ld;
  gemm.ldb = o.b.ld;
  gemm.ldc = o.c.ld;
  gemm.ldd = o.d.ld;
  gemm.stride_a = o.a.batch_stride;
  gemm.stride_b = o.b.batch_stride;
  gemm.stride_c = o.c.batch_stride;
  gemm.stride_d = o.d.batch_stride;
  gemm.batch = o.d.batch_count;
  if ((o.descriptor.epilogue & kBias) != 0) {
    gemm.bias = o.descriptor.bias;
    gemm.bias_stride = o.descriptor.bias_batch_stride;
    const auto bias_type =
        o.descriptor.bias_type < 0 ? d : elementOf(static_cast<cudaDataType>(o.descriptor.bias_type));
    if (!bias_type || *bias_type == Element::kFp64) {
      return refuse("bias type");
    }
    gemm.bias_type = *bias_type;
  }
  if ((o.descriptor.epilogue & (kRelu | kGelu)) != 0) {
    gemm.activation = (o.descriptor.epilogue & kRelu) != 0 ? Activation::kRelu : Activation::kGelu;
  }
  if (gemm.compute == Compute::kFp64 && (o.descriptor.epilogue & ~uint32_t{CUBLASLT_EPILOGUE_DEFAULT}) != 0) {
    return refuse("epilogues in fp64");
  }
  return CUBLAS_STATUS_SUCCESS;
}

// D row-major: compute Dᵀ = op(B)ᵀ · op(A)ᵀ in column-major order.
void exchangeOperands(Gemm& gemm) {
  std::swap(gemm.a, gemm.b);
  std::swap(gemm.lda, gemm.ldb);
  std::swap(gemm.stride_a, gemm.stride_b);
  std::swap(gemm.m, gemm.n);
  const bool transpose_a = !gemm.transpose_b;
  gemm.transpose_b = !gemm.transpose_a;
  gemm.transpose_a = transpose_a;
}

bool complete(const void* descriptor, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
              cublasLtMatrixLayout_t d) {
  return descriptor && a && b && c && d;
}

// The one algorithm there is.
void describeResult(cublasLtMatmulHeuristicResult_t& result) {
  result = {};
  result.algo.data[0] = 1;
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = 1.0f;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (!handle) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *handle = new (std::nothrow) cublasLtContext;
  return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
size_t cublasLtGetCudartVersion() { return CUDART_VERSION; }

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  if (!value) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  switch (type) {
    case MAJOR_VERSION:
      *value = CUBLAS_VER_MAJOR;
      return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUBLAS_VER_MINOR;
      return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUBLAS_VER_PATCH;
      return CUBLAS_STATUS_SUCCESS;
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
  if (!handle) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (!complete(descriptor, a_layout, b_layout, c_layout, d_layout) || !alpha || !beta || !a || !b || !d) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  Gemm gemm;
  const Operands operands{view(descriptor), view(a_layout), view(b_layout), view(c_layout), view(d_layout)};
  if (const cublasStatus_t status = describe(operands, gemm); status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  if ((operands.descriptor.epilogue & kBias) != 0 && !gemm.bias) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  switch (operands.descriptor.pointer_mode) {
    case CUBLASLT_POINTER_MODE_HOST:
      gemm.alpha = scalarAt(alpha, gemm.scale_type);
      gemm.beta = scalarAt(beta, gemm.scale_type);
      if (gemm.beta != 0 && !c) {
        return CUBLAS_STATUS_INVALID_VALUE;
      }
      break;
    case CUBLASLT_POINTER_MODE_DEVICE:
      gemm.alpha_device = alpha;
      gemm.beta_device = beta;
      break;
    default:
      return refuse("this pointer mode");
  }
  gemm.a = a;
  gemm.b = b;
  gemm.c = c ? c : d;
  gemm.d = d;
  if (operands.d.order == CUBLASLT_ORDER_ROW) {
    exchangeOperands(gemm);
  }
  return softcublas_gemm(stream, &gemm) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  if (!handle) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (!complete(descriptor, a, b, c, d) || !preference || requested <= 0 || !results || !found) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *found = 0;
  Gemm gemm;
  const cublasStatus_t status = describe({view(descriptor), view(a), view(b), view(c), view(d)}, gemm);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  describeResult(results[0]);
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                                        cudaDataType_t, cudaDataType_t, cudaDataType_t, int requested, int ids[],
                                        int* found) {
  if (!handle) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (requested <= 0 || !ids || !found) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  ids[0] = 1;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                                      cudaDataType_t, cudaDataType_t, cudaDataType_t, int id,
                                      cublasLtMatmulAlgo_t* algorithm) {
  if (!handle) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (id != 1 || !algorithm) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *algorithm = {};
  algorithm->data[0] = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                       cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (!handle) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (!complete(descriptor, a, b, c, d) || !algorithm || !result) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  Gemm gemm;
  const cublasStatus_t status = describe({view(descriptor), view(a), view(b), view(c), view(d)}, gemm);
  if (status == CUBLAS_STATUS_SUCCESS) {
    describeResult(*result);
  }
  return status;
}

const char* cublasLtGetStatusName(cublasStatus_t status) { return statusName(status); }
const char* cublasLtGetStatusString(cublasStatus_t status) { return statusText(status); }
unsigned cublasLtDisableCpuInstructionsSetMask(unsigned) { return 0; }

// Logging is accepted and not done.
cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetFile(FILE*) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerOpenFile(const char*) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetLevel(int) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerSetMask(int) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtLoggerForceDisable() { return CUBLAS_STATUS_SUCCESS; }

}  // extern "C"
