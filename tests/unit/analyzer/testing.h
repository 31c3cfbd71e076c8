// SPDX-License-Identifier: Apache-2.0
// Shared by the analyzer's tests: a trace file made for one test, and results unpacked.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "analyzer/trace/trace.h"
#include "tests/support/trace_builder.h"

namespace plumb::test {

// A file name of this test in the temporary folder; the file is removed at the end.
class TraceFile {
 public:
  TraceFile() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    m_path = (std::filesystem::temp_directory_path() /
              (std::string(info->test_suite_name()) + "." + info->name() + "." + std::to_string(getpid()) + ".sqlite"))
                 .string();
    for (char& c : m_path) {
      if (c == '/' && &c > &m_path[std::filesystem::temp_directory_path().string().size()]) c = '_';
    }
  }
  ~TraceFile() {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) std::remove((m_path + suffix).c_str());
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  [[nodiscard]] const std::string& path() const { return m_path; }

 private:
  std::string m_path;
};

// The value, or a failed test with the error's message.
template <class T>
T valueOf(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

// What the error says; "" for success.
template <class T>
std::string errorOf(const Result<T>& result) {
  return result.ok() ? std::string() : result.error().message;
}

// A process with rank 0, one thread, one device and two streams: what most tests need.
struct OneRank {
  explicit OneRank(TraceBuilder& trace, int64_t rank = 0, int64_t worldSize = 1)
      : process(trace.addRank(rank, worldSize)),
        thread(trace.addThread(process)),
        device(trace.addDevice(process)),
        stream(trace.addStream(process, device, 7)),
        otherStream(trace.addStream(process, device, 13)) {}
  [[nodiscard]] TraceBuilder::Work work(int64_t startNs, int64_t durationNs, int64_t correlation = 0,
                                        int64_t flags = 0) const {
    return {process, device, stream, startNs, durationNs, correlation, flags};
  }
  [[nodiscard]] TraceBuilder::Work otherWork(int64_t startNs, int64_t durationNs, int64_t correlation = 0) const {
    return {process, device, otherStream, startNs, durationNs, correlation, 0};
  }
  int64_t process, thread, device, stream, otherStream;
};

}  // namespace plumb::test
