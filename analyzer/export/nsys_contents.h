// SPDX-License-Identifier: Apache-2.0
// What becomes of each table of the trace format among the tables of Nsight Systems' export (nsys_views.sql). The one
// list of it.
#pragma once
#include <span>

#include "analyzer/export/contents.h"

namespace plumb::exports {

[[nodiscard]] std::span<const Content> nsysContents();

}  // namespace plumb::exports
