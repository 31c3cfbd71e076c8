// SPDX-License-Identifier: Apache-2.0
// What must not be called while work is captured, in each mode and from each thread, and what it does to the capture.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace {

constexpr std::size_t kBytes = 64;

struct Attempt {
  cudaError_t during;  // of the call in the capture
  cudaError_t end;     // of ending the capture
};

bool operator==(const Attempt& a, const Attempt& b) { return a.during == b.during && a.end == b.end; }
void PrintTo(const Attempt& attempt, std::ostream* out) {
  *out << cudaGetErrorName(attempt.during) << ", then " << cudaGetErrorName(attempt.end);
}

constexpr Attempt kAllowed{cudaSuccess, cudaSuccess};
constexpr Attempt kUnsafe{cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureInvalidated};
constexpr Attempt kImplicit{cudaErrorStreamCaptureImplicit, cudaErrorStreamCaptureInvalidated};

class CaptureRules : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cudaMalloc(&data, kBytes), cudaSuccess); }
  void TearDown() override {
    EXPECT_EQ(cudaFree(data), cudaSuccess);
    cudaGetLastError();
  }

  // Makes the call while a stream of these flags is captured in that mode.
  static Attempt attempt(unsigned flags, cudaStreamCaptureMode mode, const std::function<cudaError_t()>& call,
                         bool inAnotherThread = false) {
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
    EXPECT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
    Attempt made{};
    if (inAnotherThread) {
      std::thread([&] { made.during = call(); }).join();
    } else {
      made.during = call();
    }
    cudaGraph_t graph = nullptr;
    made.end = cudaStreamEndCapture(stream, &graph);
    EXPECT_EQ(graph != nullptr, made.end == cudaSuccess);
    if (graph) {
      EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    return made;
  }

  void* data = nullptr;
};

constexpr cudaStreamCaptureMode kModes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                            cudaStreamCaptureModeRelaxed};

// The legacy default stream waits for every blocking stream: whatever uses it fails, and voids the capture, in each
// mode and from each thread.
TEST_F(CaptureRules, TheLegacyStreamIsBarredWhileABlockingStreamIsCaptured) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  char host[kBytes] = {};
  const std::pair<const char*, std::function<cudaError_t()>> uses[] = {
      {"cudaMemset", [&] { return cudaMemset(data, 0, kBytes); }},
      {"cudaMemsetAsync", [&] { return cudaMemsetAsync(data, 0, kBytes, nullptr); }},
      {"cudaMemcpy", [&] { return cudaMemcpy(host, data, kBytes, cudaMemcpyDeviceToHost); }},
      {"cudaMemcpyAsync",
       [&] { return cudaMemcpyAsync(host, data, kBytes, cudaMemcpyDeviceToHost, cudaStreamLegacy); }},
      {"cudaLaunchHostFunc",
       [&] {
         return cudaLaunchHostFunc(
             nullptr, [](void*) {}, nullptr);
       }},
      {"cudaEventRecord", [&] { return cudaEventRecord(event, nullptr); }},
      {"cudaStreamWaitEvent", [&] { return cudaStreamWaitEvent(nullptr, event, 0); }},
      {"cudaStreamSynchronize", [] { return cudaStreamSynchronize(nullptr); }},
      {"cudaStreamQuery", [] { return cudaStreamQuery(nullptr); }},
      {"cudaMallocAsync",
       [] {
         void* memory = nullptr;
         return cudaMallocAsync(&memory, kBytes, nullptr);
       }},
  };
  for (const auto& [name, use] : uses) {
    for (const cudaStreamCaptureMode mode : kModes) {
      for (const bool elsewhere : {false, true})
        EXPECT_EQ(attempt(cudaStreamDefault, mode, use, elsewhere), kImplicit) << name << " in mode " << mode;
    }
  }
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(CaptureRules, AStreamThatJoinsBarsTheLegacyStreamToo) {
  cudaStream_t origin = nullptr, joined = nullptr;
  cudaEvent_t fork = nullptr;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&origin, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&joined), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&fork), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(origin, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(fork, origin), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(data, 0, kBytes, nullptr), cudaSuccess) << "nothing blocking is captured yet";
  ASSERT_EQ(cudaStreamWaitEvent(joined, fork, 0), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(data, 0, kBytes, nullptr), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaMemsetAsync(data, 0, kBytes, origin), cudaErrorStreamCaptureInvalidated) << "the capture is void";
  EXPECT_EQ(cudaStreamEndCapture(origin, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaMemsetAsync(data, 0, kBytes, nullptr), cudaSuccess) << "as before";
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(fork), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(origin), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(joined), cudaSuccess);
}

TEST_F(CaptureRules, BesideANonBlockingStreamTheLegacyStreamWorksAndIsNotCaptured) {
  for (const cudaStreamCaptureMode mode : kModes)
    EXPECT_EQ(attempt(cudaStreamNonBlocking, mode, [&] { return cudaMemsetAsync(data, 1, kBytes, nullptr); }),
              kAllowed);
  char host[kBytes] = {};
  ASSERT_EQ(cudaMemcpy(host, data, kBytes, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(host[0], 1);
}

// A question voids nothing.
TEST_F(CaptureRules, AskingWhetherTheLegacyStreamIsCapturedFailsButVoidsNothing) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const auto ask = [&] { return cudaStreamIsCapturing(nullptr, &status); };
  const Attempt refused{cudaErrorStreamCaptureImplicit, cudaSuccess};
  EXPECT_EQ(attempt(cudaStreamDefault, cudaStreamCaptureModeGlobal, ask), refused);
  EXPECT_EQ(
      attempt(cudaStreamDefault, cudaStreamCaptureModeGlobal,
              [&] { return cudaStreamGetCaptureInfo(nullptr, &status, nullptr, nullptr, nullptr, nullptr, nullptr); }),
      refused);
  EXPECT_EQ(attempt(cudaStreamNonBlocking, cudaStreamCaptureModeGlobal, ask), kAllowed);
}

// Calls that are done at once and so would be missing in the graph.
TEST_F(CaptureRules, UnsafeCallsAreForbiddenAsFarAsTheModeSays) {
  char host[kBytes] = {};
  const std::pair<const char*, std::function<cudaError_t()>> calls[] = {
      {"cudaMalloc and cudaFree",
       [] {
         void* memory = nullptr;
         const cudaError_t error = cudaMalloc(&memory, kBytes);
         return error == cudaSuccess ? cudaFree(memory) : error;
       }},
      {"cudaMallocHost",
       [] {
         void* memory = nullptr;
         const cudaError_t error = cudaMallocHost(&memory, kBytes);
         return error == cudaSuccess ? cudaFreeHost(memory) : error;
       }},
      {"cudaMemcpy", [&] { return cudaMemcpy(host, data, kBytes, cudaMemcpyDeviceToHost); }},
  };
  for (const auto& each : calls) {
    for (const bool elsewhere : {false, true}) {
      SCOPED_TRACE(std::string(each.first) + (elsewhere ? " in another thread" : " in the capturing thread"));
      const auto in = [&](cudaStreamCaptureMode mode) {
        return attempt(cudaStreamNonBlocking, mode, each.second, elsewhere);
      };
      EXPECT_EQ(in(cudaStreamCaptureModeGlobal), kUnsafe);
      EXPECT_EQ(in(cudaStreamCaptureModeThreadLocal), elsewhere ? kAllowed : kUnsafe);
      EXPECT_EQ(in(cudaStreamCaptureModeRelaxed), kAllowed);
    }
  }
}

TEST_F(CaptureRules, AThreadMayChooseAMilderModeForItself) {
  const auto allocateIn = [](cudaStreamCaptureMode mine) {
    cudaStreamCaptureMode mode = mine;
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    EXPECT_EQ(mode, cudaStreamCaptureModeGlobal) << "the default";
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, kBytes);
    if (error == cudaSuccess) {
      EXPECT_EQ(cudaFree(memory), cudaSuccess);
    }
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    return error;
  };
  const auto relaxed = [&] { return allocateIn(cudaStreamCaptureModeRelaxed); };
  const auto local = [&] { return allocateIn(cudaStreamCaptureModeThreadLocal); };
  EXPECT_EQ(attempt(cudaStreamDefault, cudaStreamCaptureModeGlobal, relaxed), kAllowed);
  EXPECT_EQ(attempt(cudaStreamDefault, cudaStreamCaptureModeGlobal, local), kUnsafe);
  EXPECT_EQ(attempt(cudaStreamDefault, cudaStreamCaptureModeGlobal, local, true), kAllowed);
  auto wrong = static_cast<cudaStreamCaptureMode>(7);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&wrong), cudaErrorInvalidValue);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(nullptr), cudaErrorInvalidValue);
}

// Captured work has not begun, so nobody can wait for a device that has some.
TEST_F(CaptureRules, TheDeviceCannotBeWaitedForInAnyMode) {
  for (const cudaStreamCaptureMode mode : kModes) {
    for (const bool elsewhere : {false, true})
      EXPECT_EQ(attempt(
                    cudaStreamNonBlocking, mode, [] { return cudaDeviceSynchronize(); }, elsewhere),
                kUnsafe);
  }
}

}  // namespace
