// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/json_text.h"

#include <nlohmann/json.hpp>

namespace plumb::exports {

std::string jsonText(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool isJson(std::string_view text) { return nlohmann::json::accept(text); }

}  // namespace plumb::exports
