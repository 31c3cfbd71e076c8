// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/tracelens_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/device_events.h"
#include "analyzer/analyses/graph_replays.h"
#include "analyzer/analyses/hta/hta_statistics.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/operator_times.h"
#include "analyzer/analyses/tracelens_grid.h"
#include "analyzer/intervals/gallop.h"
#include "analyzer/trace/row_scan.h"

namespace plumb {
namespace {

using Json = nlohmann::json;

// An operator whose first operand is `a`: with a bias (or what is added) before it, the second. isLinear: the second
// operand is given transposed, n x k, a bias behind it if there is one, and strides are not told.
struct Kind {
  const char* name;
  size_t a;
  bool isBatched, hasBias, isLinear;
};
constexpr Kind kKinds[] = {{"aten::mm", 0, false, false, false},
                           {"aten::addmm", 1, false, true, false},
                           {"aten::bmm", 0, true, false, false},
                           {"aten::baddbmm", 1, true, true, false},
                           {"vllm::rocm_unquantized_gemm", 0, false, false, true},
                           {"aiter::gemm_a16w16", 0, false, false, true}};

struct Product {
  std::string name;
  int64_t b = 1, m = 0, n = 0, k = 0;
  bool hasBias = false;
  std::string strideA, strideB, typeA, typeB;
  friend auto operator<=>(const Product&, const Product&) = default;

  [[nodiscard]] double flops() const {
    const auto result = static_cast<double>(m) * static_cast<double>(n);
    return static_cast<double>(b) * (2 * result * static_cast<double>(k) + (hasBias ? result : 0));
  }
  // None for a type of unknown size.
  [[nodiscard]] std::optional<double> bytes() const {
    const auto sizeA = sizeOf(typeA), sizeB = sizeOf(typeB);
    if (!sizeA || !sizeB) return std::nullopt;
    const auto rows = static_cast<double>(m), columns = static_cast<double>(n), depth = static_cast<double>(k);
    return static_cast<double>(b) * (*sizeA * rows * depth + *sizeB * depth * columns + *sizeA * rows * columns +
                                     (hasBias ? *sizeA * columns : 0));
  }

 private:
  static std::optional<double> sizeOf(const std::string& type) {
    static const std::map<std::string, double, std::less<>> kSizes = {
        {"double", 8}, {"float", 4}, {"c10::Half", 2}, {"c10::BFloat16", 2}, {"c10::Float8_e4m3fn", 1}};
    const auto known = kSizes.find(type);
    return known == kSizes.end() ? std::nullopt : std::optional(known->second);
  }
};

std::string listText(const Json& list) {
  std::string text;
  for (const Json& element : list) text += (text.empty() ? "" : ", ") + element.dump();
  return "(" + text + ")";
}

std::optional<Product> productOf(const Kind& kind, std::string_view dims, std::string_view types,
                                 std::string_view strides) {
  const Json shapes = Json::parse(dims, nullptr, false), names = Json::parse(types, nullptr, false),
             steps = Json::parse(strides, nullptr, false);
  const size_t a = kind.a, b = a + 1, rank = kind.isBatched ? 3 : 2;
  for (const Json* list : {&shapes, &names}) {
    if (!list->is_array() || list->size() <= b) return std::nullopt;
  }
  for (const size_t operand : {a, b}) {
    const Json& shape = shapes[operand];
    if (!shape.is_array() || shape.size() != rank || !names[operand].is_string()) return std::nullopt;
    for (const Json& size : shape) {
      if (!size.is_number_integer()) return std::nullopt;
    }
  }
  Product product;
  product.name = kind.name;
  product.hasBias =
      kind.hasBias || (kind.isLinear && shapes.size() > b + 1 && shapes[b + 1].is_array() && !shapes[b + 1].empty());
  if (kind.isBatched) product.b = shapes[a][0].get<int64_t>();
  product.m = shapes[a][rank - 2].get<int64_t>();
  product.k = shapes[a][rank - 1].get<int64_t>();
  product.n = shapes[b][kind.isLinear ? 0 : rank - 1].get<int64_t>();
  product.typeA = names[a].get<std::string>();
  product.typeB = names[b].get<std::string>();
  if (!kind.isLinear && steps.is_array() && steps.size() > b && steps[a].is_array() && steps[b].is_array()) {
    product.strideA = listText(steps[a]);
    product.strideB = listText(steps[b]);
  }
  return product;
}

struct Operator {
  int64_t parent = 0;
  int64_t start = 0;   // ns
  size_t product = 0;  // index + 1; 0: none
};

struct Call {
  size_t product = 0;
  int64_t start = 0;  // of the operator, ns
  ProcessId process;
  std::vector<Interval> kernels;  // on the grid
};

struct Operators {
  std::unordered_map<int64_t, Operator> byId;
  std::vector<Product> products;
};

Result<Operators> loadOperators(Trace& trace, const EventFilter& kept) {
  const auto times = operatorTimes(trace, kept);
  if (!times.ok()) return times.error();
  const std::string chosen = times.value() ? fmt::format(" WHERE o.start_ns >= {} AND o.start_ns < {}",
                                                         times.value()->start.ns(), times.value()->end.ns())
                                           : std::string();
  auto rows = trace.query(
      "SELECT o.id, o.parent_id, o.name_id, a.dims_id, a.types_id, a.strides_id, o.process_id, o.start_ns FROM"
      " operator o LEFT JOIN operator_argument_set a ON a.id = o.argument_set_id" +
      chosen);
  if (!rows.ok()) return rows.error();
  Operators result;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, size_t> known;  // name and texts: index + 1
  Statement& row = rows.value();
  while (row.next()) {
    Operator& one = result.byId[row.integer(0)];
    one.parent = row.integer(1);
    one.start = row.integer(7);
    if (row.isNull(3) || !kept.keepsOnHost(row.id<ProcessId>(6), row.time(7))) continue;
    const auto [product, isNew] =
        known.try_emplace({row.integer(2), row.integer(3), row.integer(4), row.integer(5)}, size_t{0});
    if (isNew) {
      const auto kind = std::ranges::find(kKinds, trace.text(row.id<StringId>(2)), &Kind::name);
      if (kind == std::end(kKinds)) continue;
      auto parsed = productOf(*kind, trace.text(row.id<StringId>(3)), trace.text(row.id<StringId>(4)),
                              trace.text(row.id<StringId>(5)));
      if (!parsed) continue;
      result.products.push_back(std::move(*parsed));
      product->second = result.products.size();
    }
    one.product = product->second;
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  return result;
}

// Which operator launched the work of a correlation id.
class Launchers {
 public:
  static Result<Launchers> load(Trace& trace, const Operators& operators) {
    Launchers launchers;
    const Status read =
        scanRows(trace.database(), "process_id, correlation, operator_id", "operator_launch NOT INDEXED",
                 [&](const RowValues& row) {
                   if (!operators.byId.contains(row.integer(2))) return;
                   launchers.m_launches.push_back({{row.id<ProcessId>(0), row.id<Correlation>(1)}, row.integer(2)});
                 });
    if (!read.ok()) return read.error();
    return launchers;
  }

  // None: no operator that is known. Cheap when ids are asked for in order.
  [[nodiscard]] std::optional<int64_t> find(ProcessId process, Correlation correlation) {
    const Key key{process, correlation};
    m_hint = partitionPointNear(m_launches, m_hint, [&](const auto& launch) { return launch.first < key; });
    if (m_hint == m_launches.size() || m_launches[m_hint].first != key) return std::nullopt;
    return m_launches[m_hint].second;
  }

 private:
  using Key = std::pair<ProcessId, Correlation>;
  std::vector<std::pair<Key, int64_t>> m_launches;  // in the order of the table's key
  size_t m_hint = 0;                                // of the last answer
};

// By the replay that computes it (-1: none) and the operator.
using Calls = std::map<std::pair<int64_t, int64_t>, Call>;

// Work of a process whose operators are not in the trace.
struct Missing {
  int64_t kernels = 0, replays = 0;
  double us = 0;
};

struct Collected {
  Calls calls;
  std::map<ProcessId, Missing> missing;
  int64_t captureCount = 0;
};

// Adds the work to the operator that launched it and to those around that.
void addWork(Calls& calls, const Operators& operators, int64_t replay, int64_t id, ProcessId process, Interval time) {
  constexpr int kDeepest = 1000;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const auto found = operators.byId.find(id);
    if (found == operators.byId.end()) return;
    if (found->second.product > 0) {
      Call& call = calls[{replay, id}];
      call.product = found->second.product - 1;
      call.process = process;
      call.start = found->second.start;
      call.kernels.push_back(time);
    }
    id = found->second.parent;
  }
}

// The work launched in an operator or in those inside it.
Result<Collected> collectCalls(Trace& trace, const Operators& operators) {
  auto launchers = Launchers::load(trace, operators);
  if (!launchers.ok()) return launchers.error();
  auto devices = loadDeviceTimelines(trace);
  if (!devices.ok()) return devices.error();
  const TraceLensGrid grid(trace.info().sessionStartRealtimeNs);
  Collected result;
  for (const DeviceTimeline& device : devices.value()) {
    for (const DeviceEvent& event : device.events) {
      if (event.isFromGraph) continue;
      const auto launcher = launchers.value().find(device.process, event.correlation);
      if (launcher) addWork(result.calls, operators, -1, *launcher, device.process, grid(event.time));
    }
  }
  auto replays = findGraphReplays(trace, devices.value());
  if (!replays.ok()) return replays.error();
  result.captureCount = replays.value().captureCount;
  int64_t number = 0;
  for (const GraphReplay& replay : replays.value().replays) {
    for (size_t i = 0; i < replay.work.size() && replay.isJoined(); ++i) {
      addWork(result.calls, operators, number, replay.operators[i], replay.process, grid(replay.work[i]->time));
    }
    ++number;
    if (replay.isJoined()) continue;
    Missing& missing = result.missing[replay.process];
    ++missing.replays;
    for (const DeviceEvent* event : replay.work) {
      if (event->table != WorkKind::Kernel) continue;
      ++missing.kernels;
      missing.us += static_cast<double>((event->time.end - event->time.start).ns()) / 1000;
    }
  }
  return result;
}

void append(CellRow& row, const hta::Description& d) {
  for (Cell value : {Cell(d.mean), Cell(d.p50), cell(d.std), Cell(d.min), Cell(d.max)}) row.push_back(std::move(value));
}

struct Group {
  std::vector<double> times;  // us
  int64_t firstStart = 0;     // ns
};

CellRow rowOf(Cell rank, const Product& p, const std::vector<double>& times) {
  const auto bytes = p.bytes();
  double sum = 0;
  std::vector<double> bandwidths, speeds;
  for (const double time : times) {
    sum += time;
    if (time <= 0) continue;
    speeds.push_back(p.flops() / time / 1e6);
    if (bytes) bandwidths.push_back(*bytes / time / 1e6);
  }
  CellRow row{std::move(rank),
              p.name,
              p.b,
              p.m,
              p.n,
              p.k,
              int64_t{p.hasBias},
              p.strideA,
              p.strideB,
              p.typeA,
              p.typeB,
              p.flops() / 1e9,
              bytes ? Cell(*bytes / (1 << 20)) : Cell(nullptr),
              bytes ? Cell(p.flops() / *bytes) : Cell(nullptr),
              static_cast<int64_t>(times.size()),
              sum};
  append(row, hta::describe(times));
  for (const std::vector<double>* values : {&bandwidths, &speeds}) {
    if (values->empty()) {
      row.insert(row.end(), 5, Cell(nullptr));
    } else {
      append(row, hta::describe(*values));
    }
  }
  row.push_back(nullptr);  // note
  return row;
}

// One row per rank that says what the others lack.
CellRow missingRow(Cell rank, const Missing& missing, int64_t captureCount) {
  constexpr size_t kCalls = 14, kTime = 15, kNote = 31;
  CellRow row(kNote + 1, Cell(nullptr));
  row[0] = std::move(rank);
  row[kCalls] = missing.kernels;
  row[kTime] = missing.us;
  const std::string why =
      captureCount == 0
          ? "the trace holds no capture of a graph; import the trace of the capture with this one, as the same rank"
          : fmt::format(
                "of the {} captures in the trace none, or more than one, has as many launches as the "
                "graph has work",
                captureCount);
  row[kNote] = fmt::format("cannot say which operators these {} kernels of {} graph launches are: {}", missing.kernels,
                           missing.replays, why);
  return row;
}

}  // namespace

AnalysisRows traceLensGemmRows(Trace& trace, const Filter& filter) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  auto operators = loadOperators(trace, kept.value());
  if (!operators.ok()) return operators.error();
  auto collected = collectCalls(trace, operators.value());
  if (!collected.ok()) return collected.error();
  std::map<std::pair<ProcessId, Product>, Group> groups;
  for (auto& [id, call] : collected.value().calls) {
    const Duration busy = IntervalSet::unionOf(std::move(call.kernels)).length();
    Group& group = groups[{call.process, operators.value().products[call.product]}];
    group.firstStart = group.times.empty() ? call.start : std::min(group.firstStart, call.start);
    group.times.push_back(1000 * TraceLensGrid::milliseconds(busy));
  }
  const auto isWanted = [&](ProcessId process) {
    const Process* owner = trace.process(process);
    return !filter.rank || (owner && owner->rank == filter.rank);
  };
  using Order = std::tuple<std::optional<int64_t>, bool, double, int64_t>;
  std::vector<std::pair<Order, CellRow>> sorted;
  const auto add = [&](ProcessId process, bool isNote, double sum, int64_t start, CellRow row) {
    const Process* owner = trace.process(process);
    sorted.emplace_back(Order{owner ? owner->rank : std::nullopt, isNote, -sum, start}, std::move(row));
  };
  for (const auto& [key, group] : groups) {
    if (!isWanted(key.first)) continue;
    double sum = 0;
    for (const double time : group.times) sum += time;
    add(key.first, false, sum, group.firstStart, rowOf(rankOf(trace, key.first), key.second, group.times));
  }
  for (const auto& [process, missing] : collected.value().missing) {
    if (missing.kernels == 0 || !isWanted(process)) continue;
    add(process, true, missing.us, 0, missingRow(rankOf(trace, process), missing, collected.value().captureCount));
  }
  std::ranges::stable_sort(sorted, {}, [](const auto& one) -> const Order& { return one.first; });
  std::vector<CellRow> rows;
  for (auto& [order, row] : sorted) rows.push_back(std::move(row));
  return rows;
}

}  // namespace plumb
