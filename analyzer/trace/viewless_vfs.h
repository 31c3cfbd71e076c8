// SPDX-License-Identifier: Apache-2.0
// A VFS that leaves the views out of a file's list of tables. SQLite parses that list when a file is opened, and the
// views' texts, of which nothing here is run, are four fifths of it. Everything else reads as it is in the file; a file
// in log mode, and whatever is not plainly such a list, is shown whole.
#pragma once

namespace plumb {

inline constexpr char kViewlessVfs[] = "plumb_viewless";

// For the whole process; again is no error. SQLite's result code.
[[nodiscard]] int registerViewlessVfs() noexcept;

}  // namespace plumb
