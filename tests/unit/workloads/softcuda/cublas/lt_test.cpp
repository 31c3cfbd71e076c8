// SPDX-License-Identifier: Apache-2.0
// cublasLt: descriptors (the same assertions run on NVIDIA's library where it is installed: they need no driver) and
// the product with its epilogues.
#include <cublasLt.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/unit/workloads/softcuda/cublas/reference.h"

namespace softcuda_test {
namespace {

// The descriptor calls of one library.
struct Descriptors {
  decltype(&cublasLtMatrixLayoutCreate) layoutCreate = cublasLtMatrixLayoutCreate;
  decltype(&cublasLtMatrixLayoutDestroy) layoutDestroy = cublasLtMatrixLayoutDestroy;
  decltype(&cublasLtMatrixLayoutSetAttribute) layoutSet = cublasLtMatrixLayoutSetAttribute;
  decltype(&cublasLtMatrixLayoutGetAttribute) layoutGet = cublasLtMatrixLayoutGetAttribute;
  decltype(&cublasLtMatmulDescCreate) descCreate = cublasLtMatmulDescCreate;
  decltype(&cublasLtMatmulDescDestroy) descDestroy = cublasLtMatmulDescDestroy;
  decltype(&cublasLtMatmulDescSetAttribute) descSet = cublasLtMatmulDescSetAttribute;
  decltype(&cublasLtMatmulDescGetAttribute) descGet = cublasLtMatmulDescGetAttribute;
  decltype(&cublasLtMatmulPreferenceCreate) preferenceCreate = cublasLtMatmulPreferenceCreate;
  decltype(&cublasLtMatmulPreferenceGetAttribute) preferenceGet = cublasLtMatmulPreferenceGetAttribute;
};

class LtDescriptors : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) {
      return;
    }
    void* const library = dlmopen(LM_ID_NEWLM, PLUMB_CUDA_LIB "/libcublasLt.so.13", RTLD_LAZY);
    if (!library) {
      GTEST_SKIP() << "NVIDIA's libcublasLt.so.13 is not installed";
    }
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      ASSERT_NE(function, nullptr) << name;
    };
    load(m_lt.layoutCreate, "cublasLtMatrixLayoutCreate");
    load(m_lt.layoutDestroy, "cublasLtMatrixLayoutDestroy");
    load(m_lt.layoutSet, "cublasLtMatrixLayoutSetAttribute");
    load(m_lt.layoutGet, "cublasLtMatrixLayoutGetAttribute");
    load(m_lt.descCreate, "cublasLtMatmulDescCreate");
    load(m_lt.descDestroy, "cublasLtMatmulDescDestroy");
    load(m_lt.descSet, "cublasLtMatmulDescSetAttribute");
    load(m_lt.descGet, "cublasLtMatmulDescGetAttribute");
    load(m_lt.preferenceCreate, "cublasLtMatmulPreferenceCreate");
    load(m_lt.preferenceGet, "cublasLtMatmulPreferenceGetAttribute");
  }
  Descriptors m_lt;
};

TEST_P(LtDescriptors, LayoutsAnswerWhatTheyWereMadeWith) {
  cublasLtMatrixLayout_t layout = nullptr;
  ASSERT_EQ(m_lt.layoutCreate(&layout, CUDA_R_16BF, 10, 20, 16), CUBLAS_STATUS_SUCCESS);
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0;
  uint32_t type = 0;
  int32_t batch = 0, order = -1;
  size_t written = 0;
  EXPECT_EQ(m_lt.layoutGet(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows, &written), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(written, sizeof rows);
  m_lt.layoutGet(layout, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, sizeof columns, nullptr);
  m_lt.layoutGet(layout, CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof ld, nullptr);
  m_lt.layoutGet(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, &type, sizeof type, nullptr);
  m_lt.layoutGet(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch, nullptr);
  m_lt.layoutGet(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order, nullptr);
  EXPECT_EQ(rows, 10u);
  EXPECT_EQ(columns, 20u);
  EXPECT_EQ(ld, 16);
  EXPECT_EQ(type, static_cast<uint32_t>(CUDA_R_16BF));
  EXPECT_EQ(batch, 1);
  EXPECT_EQ(order, CUBLASLT_ORDER_COL);
  m_lt.layoutDestroy(layout);
}

TEST_P(LtDescriptors, SizesMustMatchExactly) {
  cublasLtMatrixLayout_t layout = nullptr;
  m_lt.layoutCreate(&layout, CUDA_R_32F, 1, 1, 1);
  uint64_t buffer[4] = {};
  size_t written = 99;
  EXPECT_EQ(m_lt.layoutGet(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, buffer, 8, &written), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(m_lt.layoutGet(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, buffer, 4, &written), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(m_lt.layoutSet(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, buffer, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(m_lt.layoutGet(layout, static_cast<cublasLtMatrixLayoutAttribute_t>(9), buffer, 8, &written),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(m_lt.layoutGet(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, nullptr, 0, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(m_lt.layoutGet(nullptr, CUBLASLT_MATRIX_LAYOUT_ROWS, buffer, 8, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(m_lt.layoutDestroy(nullptr), CUBLAS_STATUS_SUCCESS);
  m_lt.layoutDestroy(layout);
}

TEST_P(LtDescriptors, EveryAttributeHasItsSize) {
  cublasLtMatmulDesc_t desc = nullptr;
  m_lt.descCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  // By attribute number; 0: there is none.
  const size_t sizes[40] = {4, 4, 4, 4, 4, 4, 4, 4, 8, 0, 8, 8, 8, 8, 8, 4, 4, 8, 8, 8,
                            8, 8, 4, 8, 8, 1, 4, 0, 0, 0, 0, 4, 4, 4, 4, 4, 8, 4, 8, 0};
  for (int id = 0; id < 40; ++id) {
    if (id == 16) {
      continue;  // not in the header
    }
    size_t size = 0;
    const auto status = m_lt.descGet(desc, static_cast<cublasLtMatmulDescAttributes_t>(id), nullptr, 0, &size);
    EXPECT_EQ(status, sizes[id] ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE) << id;
    EXPECT_EQ(size, sizes[id]) << id;
  }
  m_lt.descDestroy(desc);
}

TEST_P(LtDescriptors, DescriptorsStartWithTheDocumentedDefaults) {
  cublasLtMatmulDesc_t desc = nullptr;
  m_lt.descCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const auto get = [&](cublasLtMatmulDescAttributes_t id) {
    int32_t value = -99;
    EXPECT_EQ(m_lt.descGet(desc, id, &value, sizeof value, nullptr), CUBLAS_STATUS_SUCCESS);
    return value;
  };
  EXPECT_EQ(get(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), CUBLAS_COMPUTE_32F);
  EXPECT_EQ(get(CUBLASLT_MATMUL_DESC_TRANSA), CUBLAS_OP_N);
  EXPECT_EQ(get(CUBLASLT_MATMUL_DESC_EPILOGUE), CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(get(CUBLASLT_MATMUL_DESC_FILL_MODE), CUBLAS_FILL_MODE_FULL);
  EXPECT_EQ(get(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE), -1);
  const int32_t transpose = CUBLAS_OP_T;
  EXPECT_EQ(m_lt.descSet(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(get(CUBLASLT_MATMUL_DESC_TRANSA), CUBLAS_OP_T);
  cublasLtMatmulPreference_t preference = nullptr;
  m_lt.preferenceCreate(&preference);
  uint32_t alignment = 0;
  EXPECT_EQ(
      m_lt.preferenceGet(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment, sizeof alignment, nullptr),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(alignment, 256u);
  m_lt.descDestroy(desc);
}

INSTANTIATE_TEST_SUITE_P(Library, LtDescriptors, testing::Values(false, true),
                         [](const auto& test) { return test.param ? "Nvidia" : "SoftwareDevice"; });

struct Layout {
  Layout(cudaDataType type, int rows, int columns, int ld) {
    cublasLtMatrixLayoutCreate(&handle, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), ld);
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(handle); }
  template <typename T>
  void set(cublasLtMatrixLayoutAttribute_t id, T value) {
    cublasLtMatrixLayoutSetAttribute(handle, id, &value, sizeof value);
  }
  cublasLtMatrixLayout_t handle = nullptr;
};

class LtMatmul : public testing::Test {
 protected:
  void SetUp() override {
    cublasLtCreate(&m_handle);
    cublasLtMatmulDescCreate(&m_desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cudaStreamCreate(&m_stream);
  }
  void TearDown() override {
    cublasLtMatmulDescDestroy(m_desc);
    cublasLtDestroy(m_handle);
    cudaStreamDestroy(m_stream);
  }
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t id, T value) {
    ASSERT_EQ(cublasLtMatmulDescSetAttribute(m_desc, id, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
  }
  cublasStatus_t run(const Array& a, const Layout& la, const Array& b, const Layout& lb, const void* c,
                     const Layout& lc, const Array& d, const Layout& ld) {
    const auto status = cublasLtMatmul(m_handle, m_desc, &m_alpha, a.data(), la.handle, b.data(), lb.handle, &m_beta, c,
                                       lc.handle, d.data(), ld.handle, nullptr, nullptr, 0, m_stream);
    cudaStreamSynchronize(m_stream);
    return status;
  }
  // A 2 × 3 · 3 × 2 product with an epilogue and a bias of (1, -100).
  std::vector<double> withEpilogue(cublasLtEpilogue_t epilogue, cudaDataType type) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(epilogue));
    const Array a(type, {1, 2, 3, 4, 5, 6}), b(type, {1, 0, -1, 2, 1, 0}), bias(type, {1, -100}), d(type, 4);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias.data()));
    const Layout la(type, 2, 3, 2), lb(type, 3, 2, 3), ld(type, 2, 2, 2);
    EXPECT_EQ(run(a, la, b, lb, d.data(), ld, d, ld), CUBLAS_STATUS_SUCCESS);
    return {d.get(0), d.get(1), d.get(2), d.get(3)};
  }

  cublasLtHandle_t m_handle = nullptr;
  cublasLtMatmulDesc_t m_desc = nullptr;
  cudaStream_t m_stream = nullptr;
  float m_alpha = 1, m_beta = 0;
};

using testing::Test;

TEST_F(LtMatmul, Epilogues) {
  for (const cudaDataType type : {CUDA_R_32F, CUDA_R_16BF, CUDA_R_16F}) {
    // A = [1 3 5; 2 4 6], AB = [-4 5; -4 8]
    EXPECT_EQ(withEpilogue(CUBLASLT_EPILOGUE_DEFAULT, type), (std::vector<double>{-4, -4, 5, 8}));
    EXPECT_EQ(withEpilogue(CUBLASLT_EPILOGUE_BIAS, type), (std::vector<double>{-3, -104, 6, -92}));
    EXPECT_EQ(withEpilogue(CUBLASLT_EPILOGUE_RELU, type), (std::vector<double>{0, 0, 5, 8}));
    EXPECT_EQ(withEpilogue(CUBLASLT_EPILOGUE_RELU_BIAS, type), (std::vector<double>{0, 0, 6, 0}));
  }
}

TEST_F(LtMatmul, GeluIsTheTanhApproximation) {
  const auto gelu = [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  const std::vector<double> plain = withEpilogue(CUBLASLT_EPILOGUE_GELU, CUDA_R_32F);
  EXPECT_NEAR(plain[0], gelu(-4), 1e-6);
  EXPECT_NEAR(plain[2], gelu(5), 1e-6);
  EXPECT_NEAR(withEpilogue(CUBLASLT_EPILOGUE_GELU_BIAS, CUDA_R_32F)[0], gelu(-3), 1e-6);
}

TEST_F(LtMatmul, GeluIsAccurateOverItsWholeRange) {
  std::vector<double> inputs;
  for (double x = -12; x <= 12; x += 0.0137) {
    inputs.push_back(x);
  }
  const auto rows = static_cast<int>(inputs.size());
  const Array a(CUDA_R_32F, inputs), b(CUDA_R_32F, {1.0}), d(CUDA_R_32F, inputs.size());
  const Layout la(CUDA_R_32F, rows, 1, rows), lb(CUDA_R_32F, 1, 1, 1);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(CUBLASLT_EPILOGUE_GELU));
  ASSERT_EQ(run(a, la, b, lb, d.data(), la, d, la), CUBLAS_STATUS_SUCCESS);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const double x = a.get(i), u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    ASSERT_NEAR(d.get(i), x / (1 + std::exp(-2 * u)), 4e-7 * std::abs(x) + 1e-12) << x;
  }
}

TEST_F(LtMatmul, TheResultMayLieElsewhereThanC) {
  m_beta = 2;
  const Array a(CUDA_R_16F, {3}), b(CUDA_R_16F, {4}), c(CUDA_R_16F, {5}), d(CUDA_R_16F, {-1});
  const Layout one(CUDA_R_16F, 1, 1, 1);
  ASSERT_EQ(run(a, one, b, one, c.data(), one, d, one), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.get(0), 22);
  EXPECT_EQ(c.get(0), 5);
}

TEST_F(LtMatmul, RowMajorMatricesGiveTheSameProduct) {
  const Array a(CUDA_R_32F, {1, 2, 3, 4, 5, 6}), b(CUDA_R_32F, {1, 2, 3}), d(CUDA_R_32F, 2);  // rows (1 2 3), (4 5 6)
  Layout la(CUDA_R_32F, 2, 3, 3), lb(CUDA_R_32F, 3, 1, 1), ld(CUDA_R_32F, 2, 1, 1);
  for (Layout* layout : {&la, &lb, &ld}) {
    layout->set(CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<int32_t>(CUBLASLT_ORDER_ROW));
  }
  ASSERT_EQ(run(a, la, b, lb, d.data(), ld, d, ld), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.get(0), 14);
  EXPECT_EQ(d.get(1), 32);
}

TEST_F(LtMatmul, BatchesAreStrided) {
  const Array a(CUDA_R_32F, {1, 2, 3}), b(CUDA_R_32F, {10}), d(CUDA_R_32F, 3);
  Layout la(CUDA_R_32F, 1, 1, 1), lb(CUDA_R_32F, 1, 1, 1), ld(CUDA_R_32F, 1, 1, 1);
  for (Layout* layout : {&la, &lb, &ld}) {
    layout->set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{3});
  }
  la.set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{1});
  ld.set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{1});
  ASSERT_EQ(run(a, la, b, lb, d.data(), ld, d, ld), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.get(0), 10);
  EXPECT_EQ(d.get(2), 30);
}

TEST_F(LtMatmul, TheHeuristicOffersOneAlgorithm) {
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulPreferenceCreate(&preference);
  const Layout one(CUDA_R_16BF, 1, 1, 1);
  cublasLtMatmulHeuristicResult_t results[4];
  int found = 0;
  ASSERT_EQ(cublasLtMatmulAlgoGetHeuristic(m_handle, m_desc, one.handle, one.handle, one.handle, one.handle, preference,
                                           4, results, &found),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(results[0].state, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(results[0].workspaceSize, 0u);
  cublasLtMatmulPreferenceDestroy(preference);
}

TEST_F(LtMatmul, RefusesWhatItCannotDo) {
  const Array a(CUDA_R_32F, {1}), d(CUDA_R_32F, 1);
  const Layout one(CUDA_R_32F, 1, 1, 1), two(CUDA_R_32F, 2, 1, 2), bytes(CUDA_R_8I, 1, 1, 1);
  EXPECT_EQ(run(a, two, a, one, d.data(), one, d, one), CUBLAS_STATUS_INVALID_VALUE) << "shapes do not fit";
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(a, bytes, a, bytes, d.data(), one, d, one), CUBLAS_STATUS_NOT_SUPPORTED);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(CUBLASLT_EPILOGUE_DGELU));
  EXPECT_EQ(run(a, one, a, one, d.data(), one, d, one), CUBLAS_STATUS_NOT_SUPPORTED);
  testing::internal::GetCapturedStderr();
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(CUBLASLT_EPILOGUE_BIAS));
  EXPECT_EQ(run(a, one, a, one, d.data(), one, d, one), CUBLAS_STATUS_INVALID_VALUE) << "a bias without a pointer";
}

}  // namespace
}  // namespace softcuda_test
