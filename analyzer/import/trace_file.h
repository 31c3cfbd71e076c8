// SPDX-License-Identifier: Apache-2.0
// A new trace file that an importer fills: written beside its place under another name and moved there when it is
// complete, so that nobody ever sees half of one.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/import/json.h"
#include "analyzer/import/row_pipe.h"
#include "analyzer/trace/compress.h"
#include "analyzer/trace/staging.h"
#include "collector/schema/result.h"
#include "collector/schema/rows.h"

namespace plumb::import {

struct KernelNameIds {
  int64_t full, shortName, mangled;
};

// What a table or an index takes of the file.
struct TableSize {
  std::string name;
  bool isIndex = false;
  uint64_t bytes = 0, rows = 0;
};

class TraceFile {
 public:
  // Refuses a name that is taken unless `replace`. A file NAME.zst will be compressed
  // (analyzer/trace/compressed_file.h).
  [[nodiscard]] static Result<TraceFile> create(const std::string& path, bool replace = false);
  // An unpublished file is removed.
  [[nodiscard]] RowPipe& rows() noexcept { return *m_rows; }
  [[nodiscard]] schema::Database& database() { return m_rows->database(); }
  void writeMeta(std::string_view key, std::string_view value);

  // The id of a text, its row written on first sight. Bytes that are not UTF-8 become '?'. Beyond 512 MiB of different
  // texts new ones become '?' too, and are counted.
  [[nodiscard]] int64_t textId(std::string_view text);
  [[nodiscard]] int64_t textId(const JsonValue& value);  // as value.toText()
  [[nodiscard]] KernelNameIds kernelNameIds(std::string_view name);
  [[nodiscard]] KernelNameIds kernelNameIds(const JsonValue& name);
  [[nodiscard]] uint64_t refusedTexts() const noexcept { return m_refusedTexts; }
  // Texts longer than 4 MiB are cut there, and end in "…".
  [[nodiscard]] uint64_t cutTexts() const noexcept { return m_cutTexts; }
  // Different texts with bytes that are not UTF-8.
  [[nodiscard]] uint64_t mendedTexts() const noexcept { return m_mendedTexts; }

  // Of what was written so far, largest first; those without rows are left out. Reads the whole file.
  [[nodiscard]] std::vector<TableSize> sizes();

  // Everything has been written: indexes, and the file gets its name. The progress is that of compressing.
  [[nodiscard]] Status publish(const CompressProgress& progress = {});

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  TraceFile(std::string path, bool replace, Staging staging, std::unique_ptr<RowPipe> rows);
  [[nodiscard]] Error failure(const std::string& what) const;
  [[nodiscard]] Status publishPlain();
  [[nodiscard]] Status publishCompressed(const CompressProgress& progress);

  std::string m_path;
  bool m_replace;
  Staging m_staging;  // goes after the connection to it
  std::unique_ptr<RowPipe> m_rows;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> m_textIds;
  std::unordered_map<int64_t, KernelNameIds> m_kernelNames;  // by the id of the name as it came
  size_t m_textBytes = 0;
  uint64_t m_refusedTexts = 0, m_mendedTexts = 0, m_cutTexts = 0;
  std::unordered_set<size_t> m_mended;  // hashes of those, as they came
};

}  // namespace plumb::import
