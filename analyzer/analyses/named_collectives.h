// SPDX-License-Identifier: Apache-2.0
// Communication kernels of which nothing but the name is recorded. Those of one name, of different devices of one
// clock, that share a moment are taken for one collective, as all its ranks are in it at once. That is not proven.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "analyzer/trace/time.h"

namespace plumb {

struct NamedKernel {
  Interval time;
  size_t device;  // tells devices apart
  size_t index;   // the caller's; decides the order of kernels with the same times
};

// Of kernels of one name and one clock. Calls take() for each collective, in order of time, with its kernels, the last
// to arrive at the end.
void forEachNamedCollective(std::vector<NamedKernel> kernels,
                            const std::function<void(std::span<const NamedKernel>)>& take);

}  // namespace plumb
