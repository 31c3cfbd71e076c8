// SPDX-License-Identifier: Apache-2.0
// What NCCL, NVTX, the driver and callers of cuBLAS find in libplumb.so, with every lane off (no recorder can be
// started): nothing fails.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace plumb::test {
namespace {

class EntryPoints : public testing::Test {
 protected:
  static void SetUpTestSuite() {
#if !defined(__SANITIZE_THREAD__)
    setenv("PLUMB_RECORDER", "/nowhere", 1);
    s_library = dlopen(PLUMB_BUILD_DIR "/lib/libplumb.so", RTLD_NOW | RTLD_LOCAL);
#endif
  }
  void SetUp() override {
    if (s_library == nullptr) {
      GTEST_SKIP() << "libplumb.so cannot be loaded: " << dlerror();
    }
  }
  template <class Function>
  static Function symbol(const char* name) {
    return reinterpret_cast<Function>(dlsym(s_library, name));
  }
  static inline void* s_library = nullptr;
};

TEST_F(EntryPoints, TheDriverIsToldThatAllIsWell) {
  const auto initialise = symbol<int (*)()>("InitializeInjection");
  ASSERT_NE(initialise, nullptr);
  EXPECT_EQ(initialise(), 1);
  EXPECT_EQ(initialise(), 1);
}

TEST_F(EntryPoints, NvtxIsTurnedOffWhereNobodyListens) {
  const auto initialise = symbol<int (*)(void*)>("InitializeInjectionNvtx2");
  ASSERT_NE(initialise, nullptr);
  EXPECT_EQ(initialise(nullptr), 0);
}

// The layout that NCCL reads; `init` differs by version.
struct Profiler {
  const char* name;
  void* init;
  int (*startEvent)(void*, void**, void*);
  int (*stopEvent)(void*);
  int (*recordEventState)(void*, int, void*);
  int (*finalize)(void*);
};

void expectHarmless(const Profiler& profiler, void* context, int mask) {
  EXPECT_EQ(mask, 0) << "NCCL need not call us";
  EXPECT_NE(context, nullptr) << "without one NCCL never finalises";
  void* event = &event;
  EXPECT_EQ(profiler.startEvent(context, &event, nullptr), 0);
  EXPECT_EQ(event, nullptr) << "always written";
  EXPECT_EQ(profiler.recordEventState(event, 23, nullptr), 0);
  EXPECT_EQ(profiler.stopEvent(event), 0);
  EXPECT_EQ(profiler.startEvent(nullptr, &event, nullptr), 0);
  EXPECT_EQ(profiler.finalize(context), 0);
}

TEST_F(EntryPoints, NcclProfilersNeverFail) {
  for (const int version : {1, 2, 3, 4, 5}) {
    const auto* profiler = symbol<const Profiler*>(("ncclProfiler_v" + std::to_string(version)).c_str());
    ASSERT_NE(profiler, nullptr);
    EXPECT_STREQ(profiler->name, "Plumbline");
    void* context = nullptr;
    int mask = 0xFFF;
    int result = -1;
    if (version <= 3) {
      result = reinterpret_cast<int (*)(void**, int*)>(profiler->init)(&context, &mask);
    } else if (version == 4) {
      result = reinterpret_cast<int (*)(void**, int*, const char*, uint64_t, int, int, int, void*)>(profiler->init)(
          &context, &mask, "world", 1, 1, 2, 0, nullptr);
    } else {
      result = reinterpret_cast<int (*)(void**, uint64_t, int*, const char*, int, int, int, void*)>(profiler->init)(
          &context, 1, &mask, "world", 1, 2, 0, nullptr);
    }
    EXPECT_EQ(result, 0);
    expectHarmless(*profiler, context, mask);
  }
}

using Gemm = int (*)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, float, int64_t, int64_t, int64_t,
                     int64_t, int64_t, int64_t, int64_t, int64_t, double*);

double callGemm(Gemm gemm, int& result) {
  double out = 0;
  result = gemm(1, 2, 3, 4, 5, 6, 7.5, 8.25F, 9, 10, 11, 12, 13, 14, 15, 16, &out);
  return out;
}

TEST_F(EntryPoints, AFunctionOfALibraryThatIsNotThereSaysSo) {
  int result = 0;
  const auto missing = symbol<Gemm>("cublasGemmEx");
  ASSERT_NE(missing, nullptr);
  (void)callGemm(missing, result);
  EXPECT_EQ(result, 1) << "CUBLAS_STATUS_NOT_INITIALIZED";
}

TEST_F(EntryPoints, AnInterposedFunctionReachesTheRealOneWithAllItsArguments) {
  // As Python does: not among the names that dlsym(RTLD_NEXT) sees.
  void* cublas = dlopen(PLUMB_BUILD_DIR "/tests/fake_cublas/libcublas.so.13", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(cublas, nullptr);
  int direct = 0;
  const double expected = callGemm(reinterpret_cast<Gemm>(dlsym(cublas, "cublasGemmStridedBatchedEx")), direct);
  const auto interposed = symbol<Gemm>("cublasGemmStridedBatchedEx");
  for (int call = 0; call < 3; ++call) {  // the first one asks its way
    int result = 0;
    EXPECT_EQ(callGemm(interposed, result), expected);
    EXPECT_EQ(result, direct);
  }
}

TEST_F(EntryPoints, TheLibraryStaysWhenItIsClosed) {
  // NCCL closes its profiler with the last communicator.
  void* again = dlopen(PLUMB_BUILD_DIR "/lib/libplumb.so", RTLD_NOW | RTLD_LOCAL);
  dlclose(again);
  dlclose(s_library);
  EXPECT_NE(dlopen(PLUMB_BUILD_DIR "/lib/libplumb.so", RTLD_NOW | RTLD_NOLOAD), nullptr);
}

}  // namespace
}  // namespace plumb::test
