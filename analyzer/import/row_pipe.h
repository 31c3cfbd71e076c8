// SPDX-License-Identifier: Apache-2.0
// Rows on their way into the trace file: the importer's thread puts copies of them into batches, a second thread
// inserts those. Reading the source and writing the file overlap, and memory is bounded: a full pipe makes the importer
// wait.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "collector/schema/writer.h"

namespace plumb::import {

// Used by one thread. Texts of rows are copied; they need not outlive the call.
class RowPipe {
 public:
  explicit RowPipe(schema::Writer writer);
  ~RowPipe();
  RowPipe(const RowPipe&) = delete;
  RowPipe& operator=(const RowPipe&) = delete;

  // A new id for a row of that table, from 1.
  template <class Row>
  [[nodiscard]] int64_t nextId() noexcept {
    return ++m_lastIds[Row::kTable];
  }
  // Ids given out for that table.
  template <class Row>
  [[nodiscard]] uint64_t idCount() const noexcept {
    return static_cast<uint64_t>(m_lastIds[Row::kTable]);
  }
  // For tables whose ids come from the source: the next ids begin behind this one.
  template <class Row>
  void skipIds(int64_t last) noexcept {
    if (last > m_lastIds[Row::kTable]) m_lastIds[Row::kTable] = last;
  }

  template <class Row>
  void insert(const Row& row) {
    put(row, [](schema::Writer& writer, const std::byte* at) { writer.insert(*reinterpret_cast<const Row*>(at)); });
  }
  template <class Row>
  void replace(const Row& row) {
    put(row, [](schema::Writer& writer, const std::byte* at) { writer.replace(*reinterpret_cast<const Row*>(at)); });
  }

  // Rows so far, those of table string left out: texts are stored before it is known what comes of them.
  [[nodiscard]] uint64_t rowCount() const noexcept { return m_rowCount; }

  // Waits until all rows are in the file, and commits.
  void commit();
  // Some row could not be written; true for good, soon after it happened.
  [[nodiscard]] bool failed() const noexcept { return m_failed.load(std::memory_order_relaxed); }
  // SQLite's words. Waits for the rows so far.
  [[nodiscard]] const std::string& failure();
  // For statements of the caller's own. Waits for the rows so far; give no more of them while a statement is in use.
  [[nodiscard]] schema::Database& database();

 private:
  using Run = void (*)(schema::Writer&, const std::byte*);
  struct Entry {
    Run run;
    size_t bytes;  // to the next entry
  };
  struct Batch {
    std::unique_ptr<std::byte[]> memory;
    size_t capacity = 0, used = 0;
  };
  struct Shared;

  static constexpr size_t roundUp(size_t bytes) {
    return (bytes + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
  }
  static size_t textBytes(std::string_view text) { return text.size(); }
  static size_t textBytes(const std::optional<std::string_view>& text) { return text ? text->size() : 0; }
  static size_t textBytes(const schema::Value& value) {
    const auto* text = std::get_if<std::string_view>(&value);
    return text ? text->size() : 0;
  }
  template <class T>
  static size_t textBytes(const T&) {
    return 0;
  }
  static void moveText(std::string_view& text, std::byte*& to) {
    if (text.empty()) return;
    std::memcpy(to, text.data(), text.size());
    text = std::string_view(reinterpret_cast<const char*>(to), text.size());
    to += text.size();
  }
  static void moveText(std::optional<std::string_view>& text, std::byte*& to) {
    if (text) moveText(*text, to);
  }
  static void moveText(schema::Value& value, std::byte*& to) {
    if (auto* text = std::get_if<std::string_view>(&value)) moveText(*text, to);
  }
  template <class T>
  static void moveText(T&, std::byte*&) {}

  template <class Row>
  void put(const Row& row, Run run) {
    static_assert(std::is_trivially_copyable_v<Row> && alignof(Row) <= alignof(std::max_align_t));
    if constexpr (!std::is_same_v<Row, schema::StringRow>) ++m_rowCount;
    size_t texts = 0;
    row.visit([&](const auto&... values) { ((texts += textBytes(values)), ...); });
    const size_t bytes = roundUp(sizeof(Entry)) + roundUp(sizeof(Row)) + roundUp(texts);
    if (m_batch.capacity - m_batch.used < bytes) nextBatch(bytes);
    std::byte* at = m_batch.memory.get() + m_batch.used;
    new (at) Entry{run, bytes};
    Row* copy = new (at + roundUp(sizeof(Entry))) Row(row);
    if (texts > 0) {
      std::byte* to = at + roundUp(sizeof(Entry)) + roundUp(sizeof(Row));
      copy->visit([&](const auto&... values) {
        (moveText(const_cast<std::remove_cvref_t<decltype(values)>&>(values), to), ...);
      });
    }
    m_batch.used += bytes;
  }
  void nextBatch(size_t atLeast);
  void flush();
  void drain();

  std::unique_ptr<Shared> m_shared;
  Batch m_batch;
  std::array<int64_t, schema::kTables.size()> m_lastIds{};
  uint64_t m_rowCount = 0;
  std::atomic<bool> m_failed{false};
};

}  // namespace plumb::import
