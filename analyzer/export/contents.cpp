// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/contents.h"

#include <fmt/format.h>

namespace plumb::exports {

Result<std::vector<LeftOut>> leftOutOf(Trace& trace, std::span<const Content> contents) {
  std::vector<LeftOut> found;
  for (const Content& content : contents) {
    if (!content.becomes.empty() && content.without.empty()) continue;
    auto rows = trace.query(fmt::format("SELECT count(*) FROM \"{}\"{}{}", content.table,
                                        content.without.empty() ? "" : " WHERE ", content.without));
    if (!rows.ok()) return rows.error();
    if (rows.value().next() && rows.value().integer(0) > 0) {
      found.push_back({std::string(content.called), rows.value().integer(0)});
    }
    if (Status status = rows.value().status(); !status.ok()) return status.error();
  }
  return found;
}

std::string leftOutText(const std::vector<LeftOut>& leftOut) {
  std::string text;
  for (const LeftOut& one : leftOut) {
    text += fmt::format("{}{} ({})", text.empty() ? "Not in the file, which has no place for them: " : ", ", one.called,
                        one.rows);
  }
  return text.empty() ? text : text + ".";
}

}  // namespace plumb::exports
