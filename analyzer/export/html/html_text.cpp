// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/html/html_text.h"

#include "analyzer/cli/text.h"

namespace plumb::exports {

std::string html(std::string_view text) {
  std::string result;
  for (const char c : cli::escaped(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace plumb::exports
