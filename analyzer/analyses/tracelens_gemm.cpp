// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/tracelens_gemm.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/device_events.h"
#include "analyzer/analyses/hta/hta_statistics.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/tracelens_grid.h"

namespace plumb {
namespace {

using Json = nlohmann::json;

// An operator whose first operand is `a`: with a bias (or what is added) before it, the second.
struct Kind {
  const char* name;
  size_t a;
  bool isBatched, hasBias;
};
constexpr Kind kKinds[] = {{"aten::mm", 0, false, false},
                           {"aten::addmm", 1, false, true},
                           {"aten::bmm", 0, true, false},
                           {"aten::baddbmm", 1, true, true}};

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
  product.hasBias = kind.hasBias;
  if (kind.isBatched) product.b = shapes[a][0].get<int64_t>();
  product.m = shapes[a][rank - 2].get<int64_t>();
  product.k = shapes[a][rank - 1].get<int64_t>();
  product.n = shapes[b][rank - 1].get<int64_t>();
  product.typeA = names[a].get<std::string>();
  product.typeB = names[b].get<std::string>();
  if (steps.is_array() && steps.size() > b && steps[a].is_array() && steps[b].is_array()) {
    product.strideA = listText(steps[a]);
    product.strideB = listText(steps[b]);
  }
  return product;
}

struct Operator {
  int64_t parent = 0;
  size_t product = 0;  // index + 1; 0: none
};

struct Call {
  size_t product = 0;
  ProcessId process;
  std::vector<Interval> kernels;  // on the grid
};

struct Operators {
  std::unordered_map<int64_t, Operator> byId;
  std::vector<Product> products;
};

Result<Operators> loadOperators(Trace& trace, const EventFilter& kept) {
  auto rows = trace.query(
      "SELECT o.id, o.parent_id, o.name_id, a.dims_id, a.types_id, a.strides_id, o.process_id, o.start_ns FROM "
      "operator o"
      " LEFT JOIN operator_argument_set a ON a.id = o.argument_set_id");
  if (!rows.ok()) return rows.error();
  Operators result;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, size_t> known;  // name and texts: index + 1
  Statement& row = rows.value();
  while (row.next()) {
    Operator& one = result.byId[row.integer(0)];
    one.parent = row.integer(1);
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

using LaunchKey = std::pair<ProcessId, Correlation>;

Result<std::map<LaunchKey, int64_t>> loadLaunches(Trace& trace) {
  auto rows = trace.query("SELECT process_id, correlation, operator_id FROM operator_launch");
  if (!rows.ok()) return rows.error();
  std::map<LaunchKey, int64_t> result;
  while (rows.value().next()) {
    result.emplace(LaunchKey{rows.value().id<ProcessId>(0), rows.value().id<Correlation>(1)}, rows.value().integer(2));
  }
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  return result;
}

// The work launched in an operator or in those inside it.
Result<std::map<int64_t, Call>> collectCalls(Trace& trace, const Operators& operators) {
  auto launches = loadLaunches(trace);
  if (!launches.ok()) return launches.error();
  auto devices = loadDeviceTimelines(trace);
  if (!devices.ok()) return devices.error();
  const TraceLensGrid grid(trace.info().sessionStartRealtimeNs);
  constexpr int kDeepest = 1000;
  std::map<int64_t, Call> calls;
  for (const DeviceTimeline& device : devices.value()) {
    for (const DeviceEvent& event : device.events) {
      const auto launch = launches.value().find({device.process, event.correlation});
      if (launch == launches.value().end()) continue;
      int64_t id = launch->second;
      for (int depth = 0; depth < kDeepest; ++depth) {
        const auto found = operators.byId.find(id);
        if (found == operators.byId.end()) break;
        if (found->second.product > 0) {
          Call& call = calls[id];
          call.product = found->second.product - 1;
          call.process = device.process;
          call.kernels.push_back(grid(event.time));
        }
        id = found->second.parent;
      }
    }
  }
  return calls;
}

void append(CellRow& row, const hta::Description& d) {
  for (Cell value : {Cell(d.mean), Cell(d.p50), cell(d.std), Cell(d.min), Cell(d.max)}) row.push_back(std::move(value));
}

}  // namespace

AnalysisRows traceLensGemmRows(Trace& trace, const Filter& filter) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  auto operators = loadOperators(trace, kept.value());
  if (!operators.ok()) return operators.error();
  auto calls = collectCalls(trace, operators.value());
  if (!calls.ok()) return calls.error();
  std::map<std::pair<ProcessId, Product>, std::vector<double>> groups;  // us
  for (auto& [id, call] : calls.value()) {
    const Duration busy = IntervalSet::unionOf(std::move(call.kernels)).length();
    groups[{call.process, operators.value().products[call.product]}].push_back(1000 *
                                                                               TraceLensGrid::milliseconds(busy));
  }
  std::vector<std::tuple<std::optional<int64_t>, double, CellRow>> sorted;
  for (auto& [key, times] : groups) {
    const auto& [process, p] = key;
    const Process* owner = trace.process(process);
    if (filter.rank && (!owner || owner->rank != filter.rank)) continue;
    const auto bytes = p.bytes();
    double sum = 0;
    std::vector<double> bandwidths, speeds;
    for (const double time : times) {
      sum += time;
      if (time <= 0) continue;
      speeds.push_back(p.flops() / time / 1e6);
      if (bytes) bandwidths.push_back(*bytes / time / 1e6);
    }
    CellRow row{rankOf(trace, process),
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
    sorted.emplace_back(owner ? owner->rank : std::nullopt, -sum, std::move(row));
  }
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  std::vector<CellRow> rows;
  for (auto& one : sorted) rows.push_back(std::move(std::get<2>(one)));
  return rows;
}

}  // namespace plumb
