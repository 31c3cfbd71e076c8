// SPDX-License-Identifier: Apache-2.0
// A file that an export writes: under another name beside its place until it is finished, so that nobody sees half of
// one; gzip when its name ends in .gz. "-" is standard output.
#pragma once
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/trace/staging.h"
#include "collector/schema/result.h"

struct gzFile_s;

namespace plumb::exports {

class OutputFile {
 public:
  // Errors as checkPlace().
  [[nodiscard]] static Result<OutputFile> create(const std::string& path, bool replace);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // removes what was not finished

  // After a failure (disk full) what follows is ignored; finish() reports it.
  void write(std::string_view text);
  // Gives the file its name.
  [[nodiscard]] Status finish();

 private:
  OutputFile(std::string path, std::optional<Staging> staging, std::FILE* plain, gzFile_s* packed, bool replace)
      : m_path(std::move(path)), m_staging(std::move(staging)), m_plain(plain), m_packed(packed), m_replace(replace) {}
  [[nodiscard]] bool close();

  std::string m_path;
  std::optional<Staging> m_staging;  // none: standard output
  std::FILE* m_plain;
  gzFile_s* m_packed;
  bool m_replace;
  int m_error = 0;
};

// The same for a folder of files: they are made in another folder and come into their own when all are finished.
class OutputFolder {
 public:
  // `names`: of the files and folders that it may come to hold; those that are there already are an error unless
  // `replace`, and then none of them stays.
  [[nodiscard]] static Result<OutputFolder> create(const std::string& path, std::vector<std::string> names,
                                                   bool replace);

  // Where the file or folder of that name is to be made.
  [[nodiscard]] std::string place(const std::string& name) const { return m_staging.path() + "/" + name; }
  [[nodiscard]] Status finish();

 private:
  OutputFolder(std::string path, std::vector<std::string> names, bool replace, Staging staging)
      : m_path(std::move(path)), m_names(std::move(names)), m_replace(replace), m_staging(std::move(staging)) {}
  std::string m_path;
  std::vector<std::string> m_names;
  bool m_replace;
  Staging m_staging;
};

}  // namespace plumb::exports
