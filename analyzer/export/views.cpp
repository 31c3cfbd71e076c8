// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/views.h"

#include <string_view>

#include "collector/schema/schema.h"

namespace plumb::exports {

std::vector<std::string> publicViews() {
  std::vector<std::string> names;
  const std::string_view sql = schema::ownViewsSql();
  constexpr std::string_view kCreate = "CREATE VIEW ";
  for (size_t at = sql.find(kCreate); at != std::string_view::npos; at = sql.find(kCreate, at + 1)) {
    const size_t first = at + kCreate.size();
    names.emplace_back(sql.substr(first, sql.find_first_of(" \n", first) - first));
  }
  return names;
}

}  // namespace plumb::exports
