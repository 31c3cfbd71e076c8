// SPDX-License-Identifier: Apache-2.0
// Source files made on the spot, and what becomes of them.
#pragma once
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/import/import.h"
#include "tests/support/database.h"
#include "tests/support/process.h"

namespace plumb::test {

class ImportTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) {
    std::ofstream(m_folder.file(name), std::ios::binary) << content;
    return m_folder.file(name);
  }
  // Imports files that exist into out.sqlite.
  Result<import::ImportResult> import(const std::vector<std::string>& files, const std::vector<int64_t>& ranks = {}) {
    import::ImportOptions options;
    options.files = files;
    options.ranks = ranks;
    options.output = output();
    options.version = "test";
    return import::importTraces(options);
  }
  // Imports one text that must be importable, and opens the result.
  const Database& imported(const std::string& text) {
    const auto result = import({write("trace.json", text)});
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    if (result.ok()) m_result = result.value();
    m_database = std::make_unique<Database>(output());
    return *m_database;
  }
  std::string errorOf(const std::string& content) {
    const auto result = import({write("trace.json", content)});
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : result.error().message;
  }
  [[nodiscard]] std::string output() const { return m_folder.file("out.sqlite"); }

  TemporaryFolder m_folder;
  std::unique_ptr<Database> m_database;
  import::ImportResult m_result;
};

inline std::string gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(compressBound(text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

// {"traceEvents": [ … ], more }
inline std::string traceOf(const std::vector<std::string>& events, const std::string& more = "") {
  std::string text = "{\"schemaVersion\": 1,\n\"traceEvents\": [\n";
  for (size_t i = 0; i < events.size(); ++i) text.append(i == 0 ? "" : ",\n").append(events[i]);
  return text.append("\n]").append(more.empty() ? "" : ", ").append(more).append("}");
}

inline std::string kernelEvent(const std::string& name, const std::string& ts, const std::string& dur, int correlation,
                               const std::string& more = "") {
  return R"({"ph": "X", "cat": "kernel", "name": ")" + name + R"(", "pid": 0, "tid": 7, "ts": )" + ts + R"(, "dur": )" +
         dur + R"(, "args": {"device": 0, "context": 1, "stream": 7, "correlation": )" + std::to_string(correlation) +
         R"(, "grid": [4, 2, 1], "block": [128, 1, 1])" + more + "}}";
}

inline std::string hostEvent(const std::string& category, const std::string& name, const std::string& ts,
                             const std::string& dur, const std::string& args = "{}") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": 500, "tid": 501, "ts": )" + ts +
         R"(, "dur": )" + dur + R"(, "args": )" + args + "}";
}

}  // namespace plumb::test
