// SPDX-License-Identifier: Apache-2.0
// Dumps of PyTorch's NCCL flight recorder, pickled or JSON, one file per rank: the collectives that a rank had enqueued
// lately, how far each came, and how far the rank is in each process group.
#pragma once
#include "analyzer/import/flight_recorder_salvage.h"
#include "analyzer/import/importer.h"
#include "analyzer/import/plain_document.h"

namespace plumb::import {

// Of dumps in any form, as Importer::kind.
inline constexpr const char* kFlightRecorder = "flight-recorder";

[[nodiscard]] bool isFlightRecorderDump(const PlainDocument& document);
// damage: what was passed over, for the document is of what lies around it.
[[nodiscard]] Result<SourceResult> readFlightRecorderDump(SourceContext& context, const PlainDocument& document,
                                                          const DumpDamage& damage = {});

// The JSON form.
[[nodiscard]] bool looksLikeFlightRecorderJson(std::string_view head, const std::string& path);
[[nodiscard]] Result<SourceResult> readFlightRecorderJson(SourceContext& context);

}  // namespace plumb::import
