// SPDX-License-Identifier: Apache-2.0
// What becomes of each table of the trace format in a Chrome JSON file. The one list of it.
#pragma once
#include <span>

#include "analyzer/export/contents.h"

namespace plumb::exports {

[[nodiscard]] std::span<const Content> chromeContents();

}  // namespace plumb::exports
