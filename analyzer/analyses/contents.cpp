// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/contents.h"

#include <utility>

namespace plumb {

std::string Contents::text() const {
  std::vector<const char*> there;
  for (const auto& [is, what] : {std::pair{kernels, "kernels"}, std::pair{deviceWork && !kernels, "copies or sets"},
                                 std::pair{apiCalls, "API calls"}, std::pair{ranges, "ranges or operators"},
                                 std::pair{collectives, "collectives"}, std::pair{allocations, "allocations"},
                                 std::pair{counters, "counters"}, std::pair{benchmarks, "benchmarks of collectives"}}) {
    if (is) there.push_back(what);
  }
  std::string text;
  for (size_t i = 0; i < there.size(); ++i) {
    if (i > 0) text += i + 1 == there.size() ? " and " : ", ";
    text += there[i];
  }
  return text;
}

Result<Contents> findContents(Trace& trace) {
  Contents contents;
  for (const auto& [sql, is] :
       {std::pair{"SELECT 1 FROM main.kernel LIMIT 1", &Contents::kernels},
        std::pair{"SELECT 1 FROM main.kernel LIMIT 1", &Contents::deviceWork},
        std::pair{"SELECT 1 FROM main.memory_copy LIMIT 1", &Contents::deviceWork},
        std::pair{"SELECT 1 FROM main.memory_set LIMIT 1", &Contents::deviceWork},
        std::pair{"SELECT 1 FROM main.api_call LIMIT 1", &Contents::apiCalls},
        std::pair{"SELECT 1 FROM main.range LIMIT 1", &Contents::ranges},
        std::pair{"SELECT 1 FROM main.operator LIMIT 1", &Contents::ranges},
        std::pair{"SELECT 1 FROM main.python_call LIMIT 1", &Contents::ranges},
        std::pair{"SELECT 1 FROM main.collective LIMIT 1", &Contents::collectives},
        std::pair{"SELECT 1 FROM main.allocation LIMIT 1", &Contents::allocations},
        std::pair{"SELECT 1 FROM main.counter_sample LIMIT 1", &Contents::counters},
        std::pair{"SELECT 1 FROM main.collective_benchmark LIMIT 1", &Contents::benchmarks},
        std::pair{"SELECT 1 FROM main.communicator LIMIT 1", &Contents::communicators},
        std::pair{"SELECT 1 FROM main.communicator WHERE n_ranks > 1 LIMIT 1", &Contents::largerCommunicators}}) {
    if (contents.*is) continue;
    auto rows = trace.query(sql);
    if (!rows.ok()) return rows.error();
    contents.*is = rows.value().next();
    if (Status status = rows.value().status(); !status.ok()) return status.error();
  }
  if (contents.allocations) return contents;
  auto said = trace.query("SELECT 1 FROM main.diagnostic WHERE code = 'no_address' LIMIT 1");
  if (!said.ok()) return said.error();
  if (said.value().next()) {
    contents.whyNoAllocation =
        "the trace's allocation events have no addresses: what was live when is not known, only the sum (see plumb "
        "report memory_timeline and counters)";
  }
  if (Status status = said.value().status(); !status.ok()) return status.error();
  return contents;
}

}  // namespace plumb
