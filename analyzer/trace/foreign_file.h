// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace plumb {

// What to do about a file that is not Plumbline's, after the sentence that says so.
inline constexpr std::string_view kImportFirst =
    " A trace of another profiler has to be imported first: plumb import FILE -o run.sqlite.";

}  // namespace plumb
