// SPDX-License-Identifier: Apache-2.0
// Every text of the session once, with the integer id of its row in table string.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collector/api/records.h"
#include "collector/recorder/storage.h"

namespace plumb::recorder {

class StringTable {
 public:
  // Writes the row of id 0, the empty text.
  explicit StringTable(Writer& writer);

  // The id of a text; writes its row on first sight. Text that is not UTF-8 is stored with its bad bytes replaced by
  // '?'. When too many different texts have come (kMaxBytes) new ones become unknown().
  [[nodiscard]] int64_t idOf(std::string_view text);
  [[nodiscard]] const std::string& text(int64_t id) const { return *m_texts[static_cast<size_t>(id)]; }
  // The id of '?'.
  [[nodiscard]] int64_t unknown() { return idOf("?"); }
  [[nodiscard]] uint64_t refusedCount() const noexcept { return m_refused; }

 private:
  static constexpr size_t kMaxBytes = 512u << 20;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  Writer& m_writer;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> m_ids;
  std::deque<const std::string*> m_texts;  // by id; the strings are m_ids' keys, which never move
  size_t m_bytes = 0;
  uint64_t m_refused = 0;
};

struct KernelNames {
  int64_t demangled;
  int64_t shortName;
  int64_t mangled;
};

// The texts of one process: from the hashes in its records to ids.
class ProcessStrings {
 public:
  explicit ProcessStrings(StringTable& table) noexcept : m_table(table) {}

  void define(StringId hash, std::string_view text);
  // No value while the text has not come; after acceptUnknown() it is then '?', and counted.
  [[nodiscard]] std::optional<int64_t> find(StringId hash);
  [[nodiscard]] std::optional<KernelNames> findKernel(StringId hash);
  [[nodiscard]] const std::string& text(int64_t id) const { return m_table.text(id); }
  [[nodiscard]] StringTable& table() noexcept { return m_table; }

  void acceptUnknown(bool accept) noexcept { m_acceptUnknown = accept; }
  [[nodiscard]] uint64_t unknownCount() const noexcept { return m_unknown; }
  // Grows with every new text: whoever waits for one looks again when it has changed.
  [[nodiscard]] size_t definedCount() const noexcept { return m_ids.size(); }

 private:
  static constexpr size_t kMaxTexts = 8'000'000;  // what comes after these stays unknown

  StringTable& m_table;
  std::unordered_map<StringId, int64_t> m_ids;
  std::unordered_map<int64_t, KernelNames> m_kernels;  // by the id of the mangled name
  bool m_acceptUnknown = false;
  uint64_t m_unknown = 0;
};

}  // namespace plumb::recorder
