// SPDX-License-Identifier: Apache-2.0
// An agent for one plugin, in memory: keeps every record, text, diagnostic and correlation call. Any thread.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/api/plugin.hpp"

namespace plumb::test {

struct FakeDiagnostic {
  Severity severity;
  std::string lane;
  std::string code;
  uint64_t count;
  std::string message;
};

class FakeHost {
 public:
  // The newest FakeHost is the one that the C functions reach.
  FakeHost();
  ~FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  [[nodiscard]] const PlumbHost* raw() const { return &m_host; }

  // Every record of one kind, in the order of writing.
  template <class Record>
  [[nodiscard]] std::vector<Record> all(RecordKind kind) const {
    std::vector<Record> found;
    forEach([&](const RecordHeader* header) {
      if (header->kind == kind) {
        Record record;
        std::memcpy(&record, header, sizeof record);
        found.push_back(record);
      }
    });
    return found;
  }
  void forEach(const std::function<void(const RecordHeader*)>& visit) const;
  [[nodiscard]] size_t recordCount() const;
  void clearRecords();

  [[nodiscard]] std::string text(StringId id) const;
  [[nodiscard]] std::vector<FakeDiagnostic> diagnostics() const;
  // The diagnostic with this code; empty code if there is none.
  [[nodiscard]] FakeDiagnostic diagnostic(std::string_view code) const;

  // What push_correlation and pop_correlation were called with: "push 7", "pop".
  [[nodiscard]] std::vector<std::string> correlationCalls() const;
  // What the plugin gave to provide_correlation.
  void (*pushProvided)(uint64_t) = nullptr;
  void (*popProvided)() = nullptr;

  void runTicks(bool atExit);
  [[nodiscard]] size_t tickCount() const { return m_ticks.size(); }

  std::map<std::string, std::string> settings;
  std::map<std::string, void*> realFunctions;
  std::atomic<bool> isFull{false};  // every write fails
  std::atomic<uint64_t> patientWrites{0};
  std::atomic<uint64_t> plainWrites{0};

 private:
  friend struct FakeHostCalls;
  struct Tick {
    void (*function)(void*, int);
    void* context;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  int write(const void* record);

  static constexpr size_t kBytes = size_t{16} << 20;
  PlumbHost m_host{};
  std::vector<char> m_records;
  std::atomic<size_t> m_used{0};
  mutable std::mutex m_mutex;
  std::unordered_map<std::string, StringId, Hash, std::equal_to<>> m_ids;
  std::unordered_map<StringId, std::string> m_texts;
  std::vector<FakeDiagnostic> m_diagnostics;
  std::vector<std::string> m_correlationCalls;
  std::vector<Tick> m_ticks;
  std::atomic<uint64_t> m_nextId{1};
};

}  // namespace plumb::test
