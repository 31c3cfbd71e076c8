// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/tracelens_kernels.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/groups.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/statistics.h"
#include "analyzer/analyses/time_clause.h"
#include "analyzer/intervals/gallop.h"
#include "analyzer/trace/row_scan.h"
#include "collector/schema/event_flags.h"

namespace plumb {
namespace {

using schema::kNoUsableTime;

// The name of the operator that launched the work of a correlation id.
class OperatorNames {
 public:
  static Result<OperatorNames> load(Trace& trace) {
    OperatorNames names;
    // Both tables are read in the order of their keys.
    Status read = scanRows(trace.database(), "id, name_id", "operator NOT INDEXED", [&](const RowValues& row) {
      names.m_operators.push_back({row.integer(0), row.id<StringId>(1)});
    });
    if (!read.ok()) return read.error();
    ProcessId process;
    std::vector<Launch>* launches = nullptr;
    read = scanRows(trace.database(), "process_id, correlation, operator_id", "operator_launch NOT INDEXED",
                    [&](const RowValues& row) {
                      if (!launches || process != row.id<ProcessId>(0)) {
                        process = row.id<ProcessId>(0);
                        launches = &names.m_launches[process];
                      }
                      launches->push_back({row.id<Correlation>(1), row.integer(2)});
                    });
    if (!read.ok()) return read.error();
    return names;
  }

  // The same for few launches, each in `launches` once and in order.
  static Result<OperatorNames> loadOf(Trace& trace, const std::vector<std::pair<ProcessId, Correlation>>& launches) {
    auto found = trace.query(
        "SELECT o.id, o.name_id FROM operator_launch l JOIN operator o ON o.id = l.operator_id"
        " WHERE l.process_id = ?1 AND l.correlation = ?2");
    if (!found.ok()) return found.error();
    Statement& row = found.value();
    OperatorNames names;
    for (const auto& [process, correlation] : launches) {
      row.reset();
      row.bind(1, process.value());
      row.bind(2, correlation.value());
      while (row.next()) {
        names.m_launches[process].push_back({correlation, row.integer(0)});
        names.m_operators.push_back({row.integer(0), row.id<StringId>(1)});
      }
      if (const Status status = row.status(); !status.ok()) return status.error();
    }
    std::ranges::sort(names.m_operators, {}, &Operator::id);
    return names;
  }

  // None: no operator is known. Cheap when ids are asked for in order.
  [[nodiscard]] std::optional<StringId> find(ProcessId process, Correlation correlation) {
    const auto mine = m_launches.find(process);
    if (mine == m_launches.end()) return std::nullopt;
    const std::vector<Launch>& launches = mine->second;
    m_launch = partitionPointNear(launches, std::min(m_launch, launches.size()),
                                  [&](const Launch& launch) { return launch.correlation < correlation; });
    if (m_launch == launches.size() || launches[m_launch].correlation != correlation) return std::nullopt;
    const int64_t id = launches[m_launch].operatorId;
    m_operator = partitionPointNear(m_operators, m_operator, [&](const Operator& one) { return one.id < id; });
    if (m_operator == m_operators.size() || m_operators[m_operator].id != id) return std::nullopt;
    return m_operators[m_operator].name;
  }

 private:
  struct Operator {
    int64_t id;
    StringId name;
  };
  struct Launch {
    Correlation correlation;
    int64_t operatorId;
  };
  std::vector<Operator> m_operators;
  std::unordered_map<ProcessId, std::vector<Launch>> m_launches;
  size_t m_launch = 0, m_operator = 0;  // of the last answer
};

struct Totals {
  GroupKey key;
  int64_t total = 0, calls = 0, min = 0, max = 0;
};

// What the report needs of a kernel that the filter keeps.
struct KeptKernel {
  ProcessId process;
  Correlation correlation;
  int64_t duration, name, stream;
};

Result<std::vector<KeptKernel>> loadKernels(Trace& trace, const EventFilter& kept) {
  std::vector<KeptKernel> kernels;
  const Status read =
      scanRows(trace.database(), "process_id, start_ns, duration_ns, flags, name_id, stream_id, correlation",
               "main.kernel NOT INDEXED WHERE " + mayBegin(trace, kept, Side::Gpu), [&](const RowValues& row) {
                 const auto process = row.id<ProcessId>(0);
                 if ((row.integer(3) & kNoUsableTime) || !kept.windowsOf(process)) return;
                 if (!kept.keepsOnGpu(process, row.time(1))) return;
                 kernels.push_back({process, row.id<Correlation>(6), row.integer(2), row.integer(4), row.integer(5)});
               });
  if (!read.ok()) return read.error();
  return kernels;
}

Result<OperatorNames> loadNames(Trace& trace, const std::vector<KeptKernel>& kernels) {
  constexpr size_t kShare = 8;  // a lookup costs about as much as reading so many rows
  if (kernels.size() > rowsPerPart(trace, "operator_launch", kShare)) return OperatorNames::load(trace);
  std::vector<std::pair<ProcessId, Correlation>> launches;
  launches.reserve(kernels.size());
  for (const KeptKernel& kernel : kernels) launches.emplace_back(kernel.process, kernel.correlation);
  std::ranges::sort(launches);
  launches.erase(std::unique(launches.begin(), launches.end()), launches.end());
  return OperatorNames::loadOf(trace, launches);
}

}  // namespace

AnalysisRows traceLensKernelRows(Trace& trace, const Filter& filter) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  auto kernels = loadKernels(trace, kept.value());
  if (!kernels.ok()) return kernels.error();
  auto operators = loadNames(trace, kernels.value());
  if (!operators.ok()) return operators.error();
  std::vector<Totals> groups;
  Groups indexes;
  for (const KeptKernel& kernel : kernels.value()) {
    const auto name = operators.value().find(kernel.process, kernel.correlation);
    const GroupKey key{kernel.process.value(), name.has_value(), name ? name->value() : 0, kernel.name, kernel.stream};
    const auto [index, isNew] = indexes.find(key);
    if (isNew) groups.push_back({key, 0, 0, kernel.duration, kernel.duration});
    Totals& group = groups[index];
    group.total = addSaturated(group.total, kernel.duration);
    ++group.calls;
    group.min = std::min(group.min, kernel.duration);
    group.max = std::max(group.max, kernel.duration);
  }
  std::vector<CellRow> rows;
  for (const Totals& group : groups) {
    rows.push_back({rankOf(trace, ProcessId(group.key[0])), group.key[0],
                    group.key[1] ? Cell(group.key[2]) : Cell(nullptr), group.key[3], group.key[4], group.total,
                    group.calls, group.min, group.max});
  }
  return rows;
}

}  // namespace plumb
