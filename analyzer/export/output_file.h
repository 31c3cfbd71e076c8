// SPDX-License-Identifier: Apache-2.0
// A file that an export writes: under another name beside its place until it is finished, so that nobody sees half of
// one; gzip when its name ends in .gz.
#pragma once
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "collector/schema/result.h"

struct gzFile_s;

namespace plumb::exports {

class OutputFile {
 public:
  // Refuses a name that is taken unless `replace`. The error tells the user what to do.
  [[nodiscard]] static Result<OutputFile> create(const std::string& path, bool replace);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // removes what was not finished

  // After a failure (disk full) what follows is ignored; finish() reports it.
  void write(std::string_view text);
  // Gives the file its name.
  [[nodiscard]] Status finish();

 private:
  OutputFile(std::string path, std::string temporary, std::FILE* plain, gzFile_s* packed)
      : m_path(std::move(path)), m_temporary(std::move(temporary)), m_plain(plain), m_packed(packed) {}
  [[nodiscard]] bool close();

  std::string m_path, m_temporary;
  std::FILE* m_plain;
  gzFile_s* m_packed;
  int m_error = 0;
};

}  // namespace plumb::exports
