// SPDX-License-Identifier: Apache-2.0
// The rules applied to a trace, as `plumb advise` applies them, the user's own rules and reports included.
#pragma once
#include <functional>
#include <string>

#include "analyzer/advice/advice.h"

namespace plumb::gui {

// goOn is asked now and then; false stops with an error. Opens the file anew: for a worker thread.
[[nodiscard]] Result<Advice> loadAdvice(const std::string& path, const Filter& filter,
                                        const std::function<bool()>& goOn);

}  // namespace plumb::gui
