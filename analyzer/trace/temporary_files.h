// SPDX-License-Identifier: Apache-2.0
// SQLite's files beside a trace that is read: what it sorts and its temporary tables.
#pragma once
#include <string>
#include <string_view>

namespace plumb {

// That they could not be written, and where: the folder that SQLite takes.
[[nodiscard]] std::string temporaryFilesSentence(std::string_view detail);
// The message holds such a sentence: no fault of the trace.
[[nodiscard]] bool isAboutTemporaryFiles(std::string_view message);

}  // namespace plumb
