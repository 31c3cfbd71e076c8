// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <future>
#include <vector>

namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

// A small device, so that it can be used up. Before the first call of any test.
[[maybe_unused]] const bool kSmallDevice = setenv("SOFTCUDA_MEMORY", "64M", 1) == 0;

class Gate {
 public:
  explicit Gate(cudaStream_t stream) {
    EXPECT_EQ(cudaLaunchHostFunc(
                  stream, [](void* self) { static_cast<Gate*>(self)->m_open.get_future().wait(); }, this),
              cudaSuccess);
  }
  ~Gate() { EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess); }  // the stream has left it
  void open() { m_open.set_value(); }

 private:
  std::promise<void> m_open;
};

std::size_t freeBytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(total, 64 * kMegabyte);
  return free;
}

class Memory : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking), cudaSuccess); }
  void TearDown() override {
    EXPECT_EQ(cudaStreamDestroy(m_stream), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(freeBytes(), 64 * kMegabyte) << "the test left memory behind";
    cudaGetLastError();
  }
  cudaStream_t m_stream = nullptr;
};

TEST_F(Memory, IsTakenAndGivenBack) {
  void* p = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 3 * kMegabyte), cudaSuccess);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 256, 0u);
  EXPECT_EQ(freeBytes(), 61 * kMegabyte);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
}

TEST_F(Memory, RunsOutAndRecovers) {
  void* most = nullptr;
  void* more = nullptr;
  ASSERT_EQ(cudaMalloc(&most, 60 * kMegabyte), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&more, 8 * kMegabyte), cudaErrorMemoryAllocation);
  EXPECT_EQ(more, nullptr);
  EXPECT_EQ(cudaMallocAsync(&more, 8 * kMegabyte, m_stream), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "running out of memory is not sticky";
  ASSERT_EQ(cudaFree(most), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&more, 8 * kMegabyte), cudaSuccess);
  EXPECT_EQ(cudaFree(more), cudaSuccess);
}

TEST_F(Memory, OnlyWhatWasAllocatedCanBeFreed) {
  void* p = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 4096), cudaSuccess);
  EXPECT_EQ(cudaFree(static_cast<char*>(p) + 256), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(p), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  int local = 0;
  EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
}

TEST_F(Memory, AStreamReusesAtOnceWhatItFreed) {
  Gate gate(m_stream);
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(cudaMallocAsync(&first, kMegabyte, m_stream), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(first, m_stream), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&second, kMegabyte, m_stream), cudaSuccess);
  EXPECT_EQ(first, second);
  ASSERT_EQ(cudaFreeAsync(second, m_stream), cudaSuccess);
  gate.open();
  ASSERT_EQ(cudaStreamSynchronize(m_stream), cudaSuccess);
}

TEST_F(Memory, AnotherStreamGetsItOnlyWhenTheFreeWasReached) {
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  Gate gate(m_stream);
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(cudaMallocAsync(&first, kMegabyte, m_stream), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(first, m_stream), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&second, kMegabyte, other), cudaSuccess);
  EXPECT_NE(first, second);
  gate.open();
  EXPECT_EQ(cudaFreeAsync(second, m_stream), cudaSuccess);  // on a stream that it was not allocated on
  ASSERT_EQ(cudaStreamSynchronize(m_stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(Memory, ThePoolCountsWhatIsUsed) {
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  void* p = nullptr;
  ASSERT_EQ(cudaMallocAsync(&p, 1000, m_stream), cudaSuccess);
  uint64_t used = 0;
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_EQ(used, 1024u);
  EXPECT_EQ(cudaFree(p), cudaSuccess);  // cudaFree takes such memory too
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_EQ(used, 0u);
}

TEST_F(Memory, PointersKnowTheirKind) {
  void* device = nullptr;
  void* pinned = nullptr;
  void* managed = nullptr;
  int local = 0;
  ASSERT_EQ(cudaMalloc(&device, 64), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 64), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&managed, 64, cudaMemAttachGlobal), cudaSuccess);
  const auto typeOf = [](const void* p) {
    cudaPointerAttributes attributes{};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, p), cudaSuccess);
    return attributes.type;
  };
  EXPECT_EQ(typeOf(device), cudaMemoryTypeDevice);
  EXPECT_EQ(typeOf(pinned), cudaMemoryTypeHost);
  EXPECT_EQ(typeOf(managed), cudaMemoryTypeManaged);
  EXPECT_EQ(typeOf(&local), cudaMemoryTypeUnregistered);
  ASSERT_EQ(cudaHostRegister(&local, sizeof(local), 0), cudaSuccess);
  EXPECT_EQ(typeOf(&local), cudaMemoryTypeHost);
  EXPECT_EQ(cudaHostRegister(&local, sizeof(local), 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostUnregister(&local), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

class Copies : public Memory {
 protected:
  void SetUp() override {
    Memory::SetUp();
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&m_device), kBytes), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&m_pinned), kBytes), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaFree(m_device), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(m_pinned), cudaSuccess);
    Memory::TearDown();
  }
  static constexpr std::size_t kBytes = kMegabyte;
  char* m_device = nullptr;
  char* m_pinned = nullptr;
};

TEST_F(Copies, GoThereAndBack) {
  std::vector<char> there(kBytes, 'x');
  std::vector<char> back(kBytes, ' ');
  ASSERT_EQ(cudaMemcpy(m_device, there.data(), kBytes, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemset(m_device, 'y', 10), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(back.data(), m_device, kBytes, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(std::string(back.data(), 12), "yyyyyyyyyyxx");
}

TEST_F(Copies, PinnedCopiesAreAsynchronous) {
  Gate gate(m_stream);
  m_pinned[0] = 'a';
  ASSERT_EQ(cudaMemcpyAsync(m_device, m_pinned, 1, cudaMemcpyHostToDevice, m_stream), cudaSuccess);
  m_pinned[0] = 'b';  // still read: the copy has not begun
  ASSERT_EQ(cudaMemcpyAsync(m_pinned + 1, m_device, 1, cudaMemcpyDeviceToHost, m_stream), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(m_stream), cudaErrorNotReady);
  gate.open();
  ASSERT_EQ(cudaStreamSynchronize(m_stream), cudaSuccess);
  EXPECT_EQ(m_pinned[1], 'b');
}

TEST_F(Copies, SmallPageableCopiesToTheDeviceAreStaged) {
  Gate gate(m_stream);
  char source = 'a';
  ASSERT_EQ(cudaMemcpyAsync(m_device, &source, 1, cudaMemcpyHostToDevice, m_stream), cudaSuccess);
  source = 'b';  // the program may use its memory again
  ASSERT_EQ(cudaMemcpyAsync(m_pinned, m_device, 1, cudaMemcpyDeviceToHost, m_stream), cudaSuccess);
  gate.open();
  ASSERT_EQ(cudaStreamSynchronize(m_stream), cudaSuccess);
  EXPECT_EQ(m_pinned[0], 'a');
}

TEST_F(Copies, OtherPageableCopiesAreDoneOnReturn) {
  std::vector<char> pageable(kBytes, 'p');
  ASSERT_EQ(cudaMemcpyAsync(m_device, pageable.data(), kBytes, cudaMemcpyHostToDevice, m_stream), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(m_stream), cudaSuccess);
  std::vector<char> back(kBytes, ' ');
  ASSERT_EQ(cudaMemcpyAsync(back.data(), m_device, kBytes, cudaMemcpyDeviceToHost, m_stream), cudaSuccess);
  EXPECT_EQ(back, pageable);
}

TEST_F(Copies, OfRectangles) {
  const char rows[] = "abcdefgh";
  ASSERT_EQ(cudaMemset2D(m_device, 512, '.', 4, 3), cudaSuccess);
  ASSERT_EQ(cudaMemcpy2D(m_device, 512, rows, 4, 2, 2, cudaMemcpyHostToDevice), cudaSuccess);
  char back[13] = {};
  ASSERT_EQ(cudaMemcpy2D(back, 4, m_device, 512, 4, 3, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_STREQ(back, "ab..ef......");
  EXPECT_EQ(cudaMemcpy2D(back, 2, m_device, 512, 4, 3, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
}

TEST_F(Copies, BeyondAnAllocationOrInTheWrongDirectionFail) {
  char local[8] = {};
  EXPECT_EQ(cudaMemcpy(m_device + kBytes - 4, local, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(m_device, local, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(local, local + 4, 4, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(m_device, nullptr, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(m_device, local, 8, static_cast<cudaMemcpyKind>(7)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemset(local, 0, 8), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(m_device, 0, kBytes + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(m_device, local, 0, cudaMemcpyHostToDevice), cudaSuccess);
}

TEST(Pools, CountTheirOwnMemory) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool = nullptr;
  cudaMemPool_t current = nullptr;
  cudaMemPool_t standard = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&standard, 0), cudaSuccess);
  ASSERT_EQ(cudaDeviceSetMemPool(0, pool), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetMemPool(&current, 0), cudaSuccess);
  EXPECT_EQ(current, pool);
  const auto attribute = [](cudaMemPool_t of, cudaMemPoolAttr which) {
    uint64_t value = 0;
    EXPECT_EQ(cudaMemPoolGetAttribute(of, which, &value), cudaSuccess);
    return value;
  };
  const uint64_t before = attribute(standard, cudaMemPoolAttrUsedMemCurrent);
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocAsync(&memory, 4096, stream), cudaSuccess);  // from the device's current pool
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 4096u);
  EXPECT_EQ(attribute(standard, cudaMemPoolAttrUsedMemCurrent), before);
  ASSERT_EQ(cudaFreeAsync(memory, stream), cudaSuccess);
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 0u);
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemHigh), 4096u);
  uint64_t zero = 0;
  ASSERT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero), cudaSuccess);
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemHigh), 0u);

  ASSERT_EQ(cudaMallocAsync(&memory, 4096, stream), cudaSuccess);
  ASSERT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(memory, stream), cudaSuccess) << "a destroyed pool takes its memory back";
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolDestroy(standard), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocFromPoolAsync(&memory, 1, pool, stream), cudaErrorInvalidValue);
  ASSERT_EQ(cudaDeviceGetMemPool(&current, 0), cudaSuccess);
  EXPECT_EQ(current, standard);
  cudaGetLastError();
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(Managed, HintsAreCheckedAndChangeNothing) {
  void* managed = nullptr;
  void* plain = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&plain, 4096), cudaSuccess);
  const cudaMemLocation device{cudaMemLocationTypeDevice, 0};
  const cudaMemLocation other{cudaMemLocationTypeDevice, 1};
  const cudaMemLocation host{cudaMemLocationTypeHost, 0};
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 4096, device, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 4096, host, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 4096, other, 0, nullptr), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 8192, device, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPrefetchAsync(plain, 4096, device, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemAdvise(managed, 4096, cudaMemAdviseSetReadMostly, device), cudaSuccess);
  EXPECT_EQ(cudaMemAdvise(managed, 4096, cudaMemAdviseSetPreferredLocation, other), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaStreamAttachMemAsync(nullptr, managed, 0, cudaMemAttachSingle), cudaSuccess);
  EXPECT_EQ(cudaStreamAttachMemAsync(nullptr, plain, 0, cudaMemAttachSingle), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(plain), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  cudaGetLastError();
}

TEST(Peers, ThereAreNone) {
  int value = -1;
  EXPECT_EQ(cudaDeviceCanAccessPeer(&value, 0, 0), cudaSuccess);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(cudaDeviceCanAccessPeer(&value, 0, 1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1), cudaErrorInvalidDevice);
  cudaGetLastError();
}

}  // namespace
