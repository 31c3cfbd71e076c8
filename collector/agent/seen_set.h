// SPDX-License-Identifier: Apache-2.0
// Which texts this process has published: a lock-free set of their ids that only grows.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plumb::agent {

// The StringId of a text (records.h): the same in every process and on every machine. Never 0 unless text is empty.
[[nodiscard]] uint64_t hashText(std::string_view text) noexcept;

// Any thread, and signal handlers. When full it forgets: its users then publish a text again, which does no harm.
class SeenSet {
 public:
  static constexpr size_t kSlots = size_t{1} << 16;

  // Maps zeroed memory; a forked child finds it empty. False: contains() is always false.
  [[nodiscard]] bool create() noexcept;
  void destroy() noexcept;
  [[nodiscard]] bool contains(uint64_t id) const noexcept;
  void insert(uint64_t id) noexcept;

 private:
  static constexpr size_t kLongestProbe = 32;
  std::atomic<std::atomic<uint64_t>*> m_slots = nullptr;
};

}  // namespace plumb::agent
