// SPDX-License-Identifier: Apache-2.0
// Thin C++ over plugin.h: what every plugin would write otherwise.
#pragma once
#include "collector/api/plugin.h"
#include "collector/api/records.h"
#include "collector/api/time.h"

#define PLUMB_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

namespace plumb {

// The agent's services, typed. A copyable view; the agent owns what it points to.
class Host {
 public:
  Host() noexcept = default;
  explicit Host(const PlumbHost* host) noexcept : m_host(host) {}

  template <class Record>
  bool write(const Record& record) const noexcept {
    return m_host->write(&record) != 0;
  }
  template <class Record>
  bool writePatiently(const Record& record, int64_t waitNs) const noexcept {
    return m_host->write_patiently(&record, waitNs) != 0;
  }
  [[nodiscard]] StringId intern(const char* text) const noexcept { return m_host->intern(text, SIZE_MAX); }
  [[nodiscard]] StringId intern(const char* text, size_t lengthBytes) const noexcept {
    return m_host->intern(text, lengthBytes);
  }
  [[nodiscard]] uint32_t threadId() const noexcept { return m_host->thread_id(); }
  [[nodiscard]] uint64_t nextId() const noexcept { return m_host->next_id(); }
  void diagnose(Severity severity, const char* lane, const char* code, uint64_t count,
                const char* message) const noexcept {
    m_host->diagnose(static_cast<uint32_t>(severity), lane, code, count, message);
  }
  [[nodiscard]] const char* setting(const char* name) const noexcept { return m_host->setting(name); }
  [[nodiscard]] const PlumbHost* raw() const noexcept { return m_host; }

 private:
  const PlumbHost* m_host = nullptr;
};

}  // namespace plumb
