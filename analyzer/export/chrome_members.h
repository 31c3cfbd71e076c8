// SPDX-License-Identifier: Apache-2.0
// The members of a JSON object, one after the other.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "analyzer/export/json_text.h"

namespace plumb::exports {

class Members {
 public:
  template <class Number>
  void addNumber(std::string_view key, Number value) {
    add(key, fmt::format("{}", value));
  }
  void addString(std::string_view key, std::string_view text) { add(key, jsonText(text)); }
  void add(std::string_view key, std::string_view json) {
    m_text += fmt::format("{}{}: {}", m_text.empty() ? "" : ", ", jsonText(key), json);
  }
  // The text of an importer is JSON; anything else goes in as a string. An empty one says nothing.
  void addText(std::string_view key, std::string_view text) {
    if (!text.empty()) add(key, isJson(text) ? std::string(text) : jsonText(text));
  }
  // Those of an object.
  void addAll(std::string_view object) {
    if (object.size() <= 2 || object.front() != '{' || !isJson(object)) return;
    addMembers(object.substr(1, object.size() - 2));
  }
  // As take() gives them.
  void addMembers(std::string_view members) {
    if (!members.empty()) m_text += fmt::format("{}{}", m_text.empty() ? "" : ", ", members);
  }
  [[nodiscard]] std::string take() { return std::move(m_text); }

 private:
  std::string m_text;
};

}  // namespace plumb::exports
