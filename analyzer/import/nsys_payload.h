// SPDX-License-Identifier: Apache-2.0
// NVTX extended payloads: from the bytes of an event and the schemas of the export to named values.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "analyzer/import/nsys_source.h"

namespace plumb::import {

struct PayloadField {
  std::string name;
  std::variant<int64_t, double, std::string> value;
};

class NsysPayloads {
 public:
  explicit NsysPayloads(NsysSource& source);
  // binaryData of an event, as bytes or as hexadecimal text. Appends what can be decoded; false: something could not.
  [[nodiscard]] bool decode(std::string_view data, bool isText, std::vector<PayloadField>& fields) const;

 private:
  using Key = std::pair<int64_t, int64_t>;  // domain, schema
  struct Entry {
    int64_t flags = 0, type = 0, detail = 0;
    std::string name;
    std::optional<int64_t> offset;
  };
  struct Enum {
    int64_t bytes = 4;
    std::map<int64_t, std::string> names;
  };
  struct Layout {
    size_t bytes = 0, count = 1;  // bytes of one element; 0: cannot be represented
    const std::vector<Entry>* nested = nullptr;
    const Enum* names = nullptr;
  };

  // budget: entries that may still be looked at, so that schemas nested in each other end.
  [[nodiscard]] bool decodeStruct(int64_t domain, const std::vector<Entry>& entries, std::string_view data,
                                  const std::string& prefix, int& budget, std::vector<PayloadField>& fields) const;
  [[nodiscard]] Layout layoutOf(int64_t domain, const Entry& entry) const;
  void findSize(const Key& key, std::set<Key>& open);
  [[nodiscard]] const std::vector<Entry>* find(int64_t domain, int64_t schema) const;

  std::map<Key, std::vector<Entry>> m_schemas;
  std::map<Key, size_t> m_sizes;
  std::map<Key, Enum> m_enums;
};

}  // namespace plumb::import
