// SPDX-License-Identifier: Apache-2.0
// A libcupti that plays a script: real CUPTI structs go in, our lane gets them through its own callbacks. Every call
// made to it is in log().
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plugins/cupti/cupti_table.h"

namespace plumb::test {

class ScriptedCupti {
 public:
  // The newest ScriptedCupti is the one that the table's functions reach.
  explicit ScriptedCupti(uint32_t version = CUPTI_API_VERSION);
  ~ScriptedCupti();
  ScriptedCupti(const ScriptedCupti&) = delete;
  ScriptedCupti& operator=(const ScriptedCupti&) = delete;

  [[nodiscard]] cupti::CuptiTable table() const;

  // Result of a function from now on, by CUPTI's name: fail("cuptiSubscribe", CUPTI_ERROR_UNKNOWN).
  void fail(const std::string& function, CUptiResult result);
  // Result of cuptiActivityEnable for one kind.
  void failKind(CUpti_ActivityKind kind, CUptiResult result);
  void setRecordBytes(CUpti_ActivityKind kind, size_t bytes);
  void setDropped(size_t records);
  void setTimestamp(uint64_t now);

  // What CUPTI does when a thread has an event: asks for a buffer if it has none, and writes into it.
  // Returns false if there was no room (the client gave no buffer).
  template <class Record>
  bool emit(const Record& record) {
    return emitBytes(&record, sizeof record);
  }
  // Delivers the calling thread's buffer; like a full buffer on an application's thread.
  void deliverThisThread();
  // Delivers all buffers of all threads from the calling thread: what cuptiActivityFlushAll does.
  void deliverAll();
  // Hands the same buffer over a second time.
  void deliverAgain();

  [[nodiscard]] std::vector<std::string> log() const;
  [[nodiscard]] size_t calls(const std::string& function) const;
  [[nodiscard]] std::vector<uint64_t> correlationStack() const;
  [[nodiscard]] bool hasTimestampCallback() const { return m_timestampCallback != nullptr; }

 private:
  friend struct ScriptedCuptiCalls;
  struct Buffer {
    uint8_t* memory = nullptr;
    size_t bytes = 0;
    size_t used = 0;
  };
  bool emitBytes(const void* record, size_t bytes);
  CUptiResult enter(const std::string& function, const std::string& arguments = "");
  void deliver(const Buffer& buffer);

  mutable std::mutex m_mutex;
  uint32_t m_version;
  uint64_t m_now = 1'000'000'000;
  size_t m_dropped = 0;
  std::map<std::string, CUptiResult> m_results;
  std::map<uint32_t, CUptiResult> m_kindResults;
  std::map<uint32_t, size_t> m_recordBytes;
  std::vector<std::string> m_log;
  std::map<std::thread::id, Buffer> m_buffers;
  Buffer m_lastDelivered;
  std::vector<uint64_t> m_correlation;
  CUpti_BuffersCallbackRequestFunc m_request = nullptr;
  CUpti_BuffersCallbackCompleteFunc m_complete = nullptr;
  CUpti_TimestampCallbackFunc m_timestampCallback = nullptr;
};

}  // namespace plumb::test
