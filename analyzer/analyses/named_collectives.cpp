// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/named_collectives.h"

#include <algorithm>
#include <tuple>

namespace plumb {

void forEachNamedCollective(std::vector<NamedKernel> kernels,
                            const std::function<void(std::span<const NamedKernel>)>& take) {
  std::ranges::sort(kernels, {}, [](const NamedKernel& kernel) {
    return std::tuple(kernel.time.start, kernel.time.end, kernel.index);
  });
  for (size_t first = 0, last = 0; first < kernels.size(); first = last) {
    TimePoint firstEnd = kernels[first].time.end;
    const auto isMet = [&](size_t device) {
      const std::span together(kernels.data() + first, last - first);
      return std::ranges::find(together, device, &NamedKernel::device) != together.end();
    };
    for (++last; last < kernels.size() && kernels[last].time.start < firstEnd && !isMet(kernels[last].device); ++last) {
      firstEnd = std::min(firstEnd, kernels[last].time.end);
    }
    take({kernels.data() + first, last - first});
  }
}

}  // namespace plumb
