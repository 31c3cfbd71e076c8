// SPDX-License-Identifier: Apache-2.0
// A CUPTI client for tests: collects every record that it is given.
#pragma once
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <utility>
#include <vector>

cudaError_t launchFill(cudaStream_t stream, int* data, int value, unsigned blocks, unsigned threads);

class Client : public testing::Test {
 protected:
  void SetUp() override {
    s_self = this;
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&data), 4096), cudaSuccess);
    ASSERT_EQ(cuptiActivityRegisterCallbacks(&request, &complete), CUPTI_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
    EXPECT_EQ(cudaFree(data), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    std::size_t dropped = 0;
    EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
    s_self = nullptr;
  }
  void enable(std::initializer_list<CUpti_ActivityKind> kinds) {
    for (const auto kind : kinds) ASSERT_EQ(cuptiActivityEnable(kind), CUPTI_SUCCESS) << kind;
  }
  void synchronizeAndFlush() {
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  }
  template <class Record>
  std::vector<Record> records(CUpti_ActivityKind kind) {
    std::lock_guard lock(m_mutex);
    std::vector<Record> found;
    for (auto& [buffer, used] : m_buffers) {
      CUpti_Activity* record = nullptr;
      while (cuptiActivityGetNextRecord(reinterpret_cast<uint8_t*>(buffer.data()), used, &record) == CUPTI_SUCCESS) {
        if (record->kind == kind) found.push_back(*reinterpret_cast<Record*>(record));
      }
    }
    return found;
  }

  cudaStream_t stream = nullptr;
  int* data = nullptr;
  std::size_t bufferBytes = 64 * 1024;  // 0: the client gives no buffer
  std::size_t buffersGiven = 0;
  std::size_t buffersReturned = 0;

 private:
  static void CUPTIAPI request(uint8_t** buffer, std::size_t* size, std::size_t* maxRecords) {
    *buffer = nullptr;
    *size = 0;
    *maxRecords = 0;
    if (!s_self || s_self->bufferBytes == 0) return;
    std::lock_guard lock(s_self->m_mutex);
    ++s_self->buffersGiven;
    *size = s_self->bufferBytes;
    *buffer = reinterpret_cast<uint8_t*>(new uint64_t[*size / 8]);
  }
  static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t* buffer, std::size_t size, std::size_t valid) {
    auto* words = reinterpret_cast<uint64_t*>(buffer);
    if (s_self) {
      std::lock_guard lock(s_self->m_mutex);
      ++s_self->buffersReturned;
      s_self->m_buffers.emplace_back(std::vector<uint64_t>(words, words + size / 8), valid);
    }
    delete[] words;
  }

  static inline Client* s_self = nullptr;
  std::mutex m_mutex;
  std::vector<std::pair<std::vector<uint64_t>, std::size_t>> m_buffers;
};
