// SPDX-License-Identifier: Apache-2.0
// What several reports over one file read once: the first to ask loads it, on whichever thread, the others wait.
#pragma once
#include <any>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <typeindex>
#include <utility>

#include "analyzer/trace/ids.h"
#include "collector/schema/result.h"

namespace plumb {

// Thread-safe. What it holds stays until it is gone, so it is for one run of reports over a file, not for a window
// that stays open.
class SharedLoads {
 public:
  SharedLoads() = default;
  explicit SharedLoads(std::map<ProcessId, int64_t> pids) : m_pids(std::move(pids)) {}

  // What the analyses' tables give as the pids of these processes, in place of the file's.
  [[nodiscard]] const std::map<ProcessId, int64_t>& pids() const { return m_pids; }

  // The only Loaded there is; an error is not kept.
  template <class Loaded, class Load>
  [[nodiscard]] Result<std::shared_ptr<const Loaded>> get(Load load) {
    Entry& entry = entryOf(typeid(Loaded));
    const std::lock_guard lock(entry.mutex);
    if (!entry.loaded.has_value()) {
      Result<Loaded> loaded = load();
      if (!loaded.ok()) return loaded.error();
      entry.loaded = std::make_shared<const Loaded>(std::move(loaded).value());
    }
    return std::any_cast<std::shared_ptr<const Loaded>>(entry.loaded);
  }

 private:
  struct Entry {
    std::mutex mutex;
    std::any loaded;
  };
  Entry& entryOf(std::type_index type) {
    const std::lock_guard lock(m_mutex);
    return m_entries[type];  // a map's entries stay where they are
  }

  const std::map<ProcessId, int64_t> m_pids;
  std::mutex m_mutex;
  std::map<std::type_index, Entry> m_entries;
};

}  // namespace plumb
