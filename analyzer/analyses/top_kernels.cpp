// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/top_kernels.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/gpu_events.h"

namespace plumb {

Result<TopKernels> totalKernels(Trace& trace) {
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  auto rows = trace.query(
      "SELECT process_id, correlation, name_id, short_name_id, start_ns, duration_ns, flags FROM main.kernel");
  if (!rows.ok()) return rows.error();
  TopKernels result;
  std::unordered_map<StringId, KernelTotal> totals;
  Statement& row = rows.value();
  while (row.next()) {
    if ((row.integer(6) & 1) || !isUsableTime(row.integer(4), row.integer(5))) continue;
    const Duration duration(row.integer(5));
    KernelTotal& total = totals[row.id<StringId>(3)];
    total.shortest = total.count ? std::min(total.shortest, duration) : duration;
    total.longest = std::max(total.longest, duration);
    total.total += duration;
    ++total.count;
    result.total += duration;
    const auto process = row.id<ProcessId>(0);
    if (classifier.value().isCommunication(process, row.id<Correlation>(1), row.id<StringId>(2))) {
      total.isCommunication = true;
      result.byName |= classifier.value().source(process) == CommunicationSource::Names;
    }
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  for (auto& [name, total] : totals) {
    total.name = trace.text(name);
    result.kernels.push_back(std::move(total));
  }
  std::sort(result.kernels.begin(), result.kernels.end(), [](const KernelTotal& a, const KernelTotal& b) {
    return a.total != b.total ? a.total > b.total : a.name < b.name;
  });
  return result;
}

}  // namespace plumb
