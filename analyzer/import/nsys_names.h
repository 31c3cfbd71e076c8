// SPDX-License-Identifier: Apache-2.0
// The texts of an Nsight Systems export, which its rows name by number, as texts of the trace file.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyzer/import/nsys_source.h"
#include "analyzer/import/trace_file.h"
#include "analyzer/trace/pair_hash.h"

namespace plumb::import {

// A CUDA function's name without underscores before it and without the version and stream suffixes behind it:
// cudaLaunchKernel of cudaLaunchKernel_ptsz_v7000, as the recorder writes it.
[[nodiscard]] std::string_view plainApiName(std::string_view name);

class NsysNames {
 public:
  NsysNames(NsysSource& source, TraceFile& file);

  // Of a number in StringIds. One that is not there is '?' and counted.
  [[nodiscard]] int64_t textId(int64_t id);
  [[nodiscard]] int64_t textId(std::optional<int64_t> id) { return id ? textId(*id) : 0; }
  // The plain name of an API function.
  [[nodiscard]] int64_t apiNameId(int64_t id);
  [[nodiscard]] std::string text(int64_t id);
  // Of the demangled, short and mangled name; what is missing is made from what is there, and the short name always is
  // where there is a full one.
  [[nodiscard]] KernelNameIds kernelNameIds(std::optional<int64_t> demangled, std::optional<int64_t> shortName,
                                            std::optional<int64_t> mangled);
  [[nodiscard]] uint64_t missing() const noexcept { return m_missing; }

 private:
  struct Hash {
    size_t operator()(const std::pair<int64_t, int64_t>& pair) const noexcept {
      return pairHash(pair.first, pair.second);
    }
  };
  [[nodiscard]] std::optional<std::string> find(int64_t id);

  TraceFile& m_file;
  std::optional<Statement> m_lookUp;
  std::unordered_map<int64_t, std::string> m_loaded;  // of an export whose StringIds cannot be searched by number
  std::unordered_map<int64_t, int64_t> m_ids, m_apiIds;
  std::unordered_map<std::pair<int64_t, int64_t>, KernelNameIds, Hash> m_kernels;  // by demangled, mangled
  uint64_t m_missing = 0;
};

}  // namespace plumb::import
