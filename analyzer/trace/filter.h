// SPDX-License-Identifier: Apache-2.0
// Which part of a trace a question is about: what --rank, --step, --range, --from and --to say. Everything that is set
// must hold.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/trace/time.h"

namespace plumb {

struct Filter {
  std::optional<int64_t> rank;
  std::optional<int64_t> step;       // its number within its process (view steps)
  std::optional<std::string> range;  // every range of this name
  std::optional<TimePoint> from;     // not before
  std::optional<TimePoint> to;       // before

  // True when no moment is left out (a rank may be).
  [[nodiscard]] bool isWholeTime() const { return !step && !range && !from && !to; }
  friend auto operator<=>(const Filter&, const Filter&) = default;
};

}  // namespace plumb
