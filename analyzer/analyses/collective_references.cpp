// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/collective_references.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/analyses/collectives.h"
#include "analyzer/analyses/roofline_work.h"

namespace plumb {

Result<CollectiveReferences> CollectiveReferences::load(Trace& trace) {
  CollectiveReferences references;
  auto rows = trace.query(
      "SELECT source_id, operation_id, device_name_id, n_ranks, in_place, bytes, duration_ns, busbw_bytes_per_s"
      " FROM collective_benchmark WHERE bytes > 0 AND duration_ns > 0 AND busbw_bytes_per_s >= 0 ORDER BY bytes");
  if (!rows.ok()) return rows.error();
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>, Series> series;
  Statement& row = rows.value();
  while (row.next()) {
    Series& one = series[{row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4)}];
    if (one.points.empty()) {
      one.operation = trace.text(row.id<StringId>(1));
      one.rankCount = row.integer(3);
      const std::string_view device = trace.text(row.id<StringId>(2));
      one.source = fmt::format("nccl-tests {}, {} ranks{}{}", trace.text(row.id<StringId>(0)), one.rankCount,
                               device.empty() ? "" : " of ", device);
    }
    if (one.points.empty() || one.points.back().bytes != row.integer(5)) {
      one.points.push_back({row.integer(5), row.real(6) * 1e-9, row.real(7)});
    }
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  for (auto& [key, one] : series) references.m_series.push_back(std::move(one));

  auto roofs = DeviceRoofs::load(trace);
  if (!roofs.ok()) return roofs.error();
  for (const Device& device : trace.devices()) {
    references.m_devices.push_back(roofs.value().of(trace, device.process, device.id));
  }
  auto hosts = trace.query(
      "SELECT c.hash, max(c.n_nodes), count(DISTINCT p.host_id) FROM main.communicator c"
      " JOIN main.process p ON p.id = c.process_id GROUP BY c.hash");
  if (!hosts.ok()) return hosts.error();
  while (hosts.value().next()) {
    const int64_t seen = hosts.value().integer(2);
    const int64_t count = std::max(hosts.value().integer(1), seen > 1 ? seen : 0);
    if (count > 0) references.m_hosts[hosts.value().integer(0)] = count;
  }
  if (const Status status = hosts.value().status(); !status.ok()) return status.error();
  return references;
}

double CollectiveReferences::busbwAt(const Series& series, int64_t bytes) {
  const auto& points = series.points;
  const auto above = std::ranges::lower_bound(points, bytes, {}, &Point::bytes);
  if (above == points.end()) return points.back().busbw;
  if (above->bytes == bytes || above == points.begin()) return above->busbw;
  const Point &low = *std::prev(above), &high = *above;
  const double share = static_cast<double>(bytes - low.bytes) / static_cast<double>(high.bytes - low.bytes);
  const double duration = low.duration + share * (high.duration - low.duration);
  return static_cast<double>(bytes) / duration * busFactorOf(series.operation, series.rankCount).factor;
}

std::optional<CollectiveReference> CollectiveReferences::find(std::string_view operation, int64_t rankCount,
                                                              int64_t bytes, int64_t communicatorHash) const {
  std::optional<CollectiveReference> best;
  for (const Series& series : m_series) {
    if (series.operation != operation || series.rankCount != rankCount) continue;
    const double busbw = busbwAt(series, bytes);
    if (!best || busbw > best->busbwBytesPerSecond) best = CollectiveReference{busbw, series.source};
  }
  if (best) return best;
  const auto hosts = m_hosts.find(communicatorHash);
  for (const std::vector<Roof>& device : m_devices) {
    const auto roof = DeviceRoofs::network(device, rankCount, hosts == m_hosts.end() ? 0 : hosts->second);
    if (!roof || (best && best->busbwBytesPerSecond <= roof->perSecond)) continue;
    best = CollectiveReference{roof->perSecond, fmt::format("{} {} roof", nameOf(roof->source), roof->resource)};
  }
  return best;
}

std::string CollectiveReferences::whyNoBenchmark(std::string_view operation, int64_t rankCount) const {
  std::set<int64_t> counts;
  std::set<std::string_view> operations;
  for (const Series& series : m_series) {
    operations.insert(series.operation);
    if (series.operation == operation) counts.insert(series.rankCount);
  }
  if (operations.empty() || counts.contains(rankCount)) return {};
  const bool isNamed = operations.erase("") == 0;
  if (operations.empty()) return "the output of nccl-tests does not tell which operation it measured";
  if (counts.empty() && !isNamed)
    return fmt::format("nccl-tests measured {} and an operation that it does not name", fmt::join(operations, ", "));
  if (counts.empty()) return fmt::format("nccl-tests measured only {}", fmt::join(operations, ", "));
  return fmt::format("nccl-tests measured this with {} ranks, not {}", fmt::join(counts, ", "), rankCount);
}

}  // namespace plumb
