// SPDX-License-Identifier: Apache-2.0
// SQLite exports of Nsight Systems (nsys export --type sqlite), schemas 2.x and 3.x. Several processes in one export
// are several processes of the trace; several exports are ranks of one run.
#pragma once
#include <string>
#include <string_view>

#include "analyzer/import/importer.h"

namespace plumb::import {

// An SQLite file that is not Plumbline's own.
[[nodiscard]] bool looksLikeDatabase(std::string_view head, const std::string& path);
[[nodiscard]] Result<SourceResult> readNsysExport(SourceContext& context);

}  // namespace plumb::import
