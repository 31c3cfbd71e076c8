// SPDX-License-Identifier: Apache-2.0
// Call stacks as PyTorch writes them (lists of {name, filename, line}, innermost first) into tables stack and
// stack_frame, each different one once.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "analyzer/import/plain_document.h"
#include "analyzer/import/trace_file.h"

namespace plumb::import {

class Stacks {
 public:
  Stacks(TraceFile& file, const PlainDocument& document) : m_file(file), m_document(document) {}

  // No value for no or empty frames.
  [[nodiscard]] std::optional<int64_t> idOf(const PlainValue* frames);
  [[nodiscard]] std::string nameOf(int64_t stack) const;

 private:
  TraceFile& m_file;
  const PlainDocument& m_document;
  std::unordered_map<int64_t, std::optional<int64_t>> m_byList;  // the same list is referred to many times
  std::unordered_map<std::string, int64_t> m_byContent;
  std::unordered_map<int64_t, std::string> m_names;
};

}  // namespace plumb::import
