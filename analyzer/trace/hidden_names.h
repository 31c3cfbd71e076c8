// SPDX-License-Identifier: Apache-2.0
// Names that stand for something else than they seem to: on somebody else's connection a temporary table or view of
// theirs comes before anything of that name of ours, and a file can hold views of our names.
#pragma once
#include <string>
#include <string_view>

#include "collector/schema/result.h"

namespace plumb {

class Database;

// An error when a statement of ours, by itself or through the schema's views, would read such a table in place of what
// it means; it names the table.
[[nodiscard]] Status checkNamesAreOurs(Database& database, std::string_view statement);

// SQLite's message that a view of the file is prohibited, as a sentence that says what to name instead; "" when it is
// another message.
[[nodiscard]] std::string refusedViewSentence(std::string_view message);

}  // namespace plumb
