// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/host_forest.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/operator_times.h"
#include "analyzer/analyses/operator_work.h"
#include "analyzer/analyses/range_times.h"
#include "analyzer/analyses/work_filter.h"

namespace plumb {
namespace {

// [[64, 3], [], [3]] as lists of numbers; an element that is no list of numbers is empty.
std::vector<std::vector<int64_t>> shapesOf(std::string_view json) {
  std::vector<std::vector<int64_t>> shapes;
  int depth = 0;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '[' && ++depth == 2) shapes.emplace_back();
    if (c == ']') --depth;
    if (depth == 2 && c >= '0' && c <= '9') {
      int64_t number = 0;
      const auto [end, failed] = std::from_chars(json.data() + i, json.data() + json.size(), number);
      shapes.back().push_back(failed == std::errc() ? number : 0);
      i = static_cast<size_t>(end - json.data()) - 1;
    }
  }
  return shapes;
}

// ["float", "c10::Half"] as texts.
std::vector<std::string_view> textsOf(std::string_view json) {
  std::vector<std::string_view> texts;
  for (size_t at = json.find('"'); at != std::string_view::npos; at = json.find('"', at)) {
    const size_t end = json.find('"', at + 1);
    if (end == std::string_view::npos) break;
    texts.push_back(json.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return texts;
}

struct Argument {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::string_view> types;
  StringId dimsText, typesText, valuesText;
};

double elementsOf(const std::vector<int64_t>& shape) {
  double count = 1;
  for (const int64_t size : shape) count *= static_cast<double>(size);
  return count;
}

// 2 m n k batch of the product of a framework's operator; none when the shapes do not say.
std::optional<double> flopsOf(std::string_view name, const Argument& argument) {
  const bool adds = name == "aten::addmm" || name == "aten::baddbmm" || name == "aten::addmm_";
  const size_t first = adds ? 1 : 0;
  if (argument.shapes.size() < first + 2) return std::nullopt;
  const std::vector<int64_t>&a = argument.shapes[first], &b = argument.shapes[first + 1];
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  return 2 * elementsOf(a) * static_cast<double>(b.back());
}

// Of them the innermost one counts, which launches the kernels: torch nests them.
bool isConvolution(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames = {"aten::convolution", "aten::_convolution",
                                                             "aten::convolution_backward", "aten::_slow_conv2d_forward",
                                                             "aten::_slow_conv2d_backward"};
  return std::ranges::count(kNames, name) > 0 || name.starts_with("aten::cudnn_convolution") ||
         name.starts_with("aten::miopen_convolution");
}

bool isProduct(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames = {"aten::mm",  "aten::addmm",   "aten::addmm_",
                                                             "aten::bmm", "aten::baddbmm", "aten::_scaled_mm"};
  return std::ranges::count(kNames, name) > 0;
}

enum class Origin : uint8_t { None, Product, Conversion };

// What one operator or range is to this analysis, and the call or row that its work counts for.
struct Role {
  Origin origin = Origin::None;
  int64_t row = -1;
};

// A framework's product, until its kernels are known.
struct ProductCall {
  ProcessId process;
  ThreadId thread;
  Interval time;
  bool isConvolution = false;
  std::string_view format;  // of its operands; "": not told
  std::optional<double> flops;
  MatrixProducts work;            // its GPU time and longest kernel
  std::string_view kernelFormat;  // that the longest kernel tells whose name tells one
  Duration kernelTime;
};

class PrecisionAnalysis {
 public:
  PrecisionAnalysis(Trace& trace, const WorkFilter& filter) : m_trace(trace), m_filter(filter) {}

  Status run() {
    if (Status done = loadAutocast(); !done.ok()) return done;
    if (Status done = loadOperators(); !done.ok()) return done;
    if (Status done = loadWork(); !done.ok()) return done;
    if (Status done = addProducts(); !done.ok()) return done;
    if (Status done = loadScales(); !done.ok()) return done;
    return loadSkips();
  }

  std::vector<ProcessPrecision> take() {
    for (auto& [key, row] : m_products) m_results[key.first].products.push_back(std::move(m_productRows[row]));
    for (auto& [key, row] : m_conversions) m_results[key.first].conversions.push_back(std::move(m_conversionRows[row]));
    std::vector<ProcessPrecision> result;
    for (const Process& process : m_trace.processes()) {
      const auto found = m_results.find(process.id);
      if (found == m_results.end()) continue;
      ProcessPrecision& mine = found->second;
      mine.process = process.id;
      std::ranges::stable_sort(mine.products, std::greater(), &MatrixProducts::gpuTime);
      std::ranges::stable_sort(mine.conversions, std::greater(), &Conversions::gpuTime);
      std::ranges::stable_sort(mine.scales, {}, &ScaleSample::time);
      if (!mine.skipsAreDeclared) {
        for (size_t i = 1; i < mine.scales.size(); ++i) {
          if (mine.scales[i].scale < mine.scales[i - 1].scale) mine.skippedSteps.push_back(mine.scales[i].time);
        }
      }
      std::ranges::sort(mine.skippedSteps);
      result.push_back(std::move(mine));
    }
    return result;
  }

 private:
  MatrixProducts& product(ProcessId process, std::string_view dtype, const char* source, int64_t* row = nullptr) {
    const auto [at, isNew] =
        m_products.emplace(std::pair(process, std::pair(std::string(dtype), source)), m_productRows.size());
    if (isNew) {
      MatrixProducts& made = m_productRows.emplace_back();
      made.dtype = dtype;
      made.source = source;
      if (m_autocastOf.count(process)) made.inAutocast = 0;
    }
    if (row) *row = static_cast<int64_t>(at->second);
    return m_productRows[at->second];
  }

  Conversions& conversion(ProcessId process, const std::string& types, const char* source, int64_t* row) {
    const auto [at, isNew] =
        m_conversions.emplace(std::pair(process, std::pair(types, source)), m_conversionRows.size());
    if (isNew) {
      Conversions& made = m_conversionRows.emplace_back();
      made.types = types;
      made.source = source;
    }
    *row = static_cast<int64_t>(at->second);
    return m_conversionRows[at->second];
  }

  // Ranges and operators that say that autocast is on inside.
  Status loadAutocast() {
    auto rows = m_trace.query(
        "SELECT process_id, thread_id, start_ns, duration_ns FROM main.range WHERE kind <> 'mark' AND name_id IN"
        " (SELECT id FROM main.string WHERE text LIKE '%autocast%')"
        " UNION ALL SELECT process_id, thread_id, start_ns, duration_ns FROM operator WHERE name_id IN"
        " (SELECT id FROM main.string WHERE text LIKE '%autocast%')");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    std::vector<HostNode> nodes;
    while (row.next()) {
      if (row.isNull(3) || !isUsableTime(row.integer(2), row.integer(3))) continue;
      HostNode node;
      node.track = row.integer(1);
      node.time = intervalOf(row.integer(2), row.integer(3));
      nodes.push_back(node);
      m_autocastOf.insert(row.id<ProcessId>(0));
    }
    m_autocast = HostForest(std::move(nodes));
    return row.status();
  }

  Status loadOperators() {
    auto loaded = OperatorIndex::load(m_trace, m_filter.events());
    if (!loaded.ok()) return loaded.error();
    m_operators = std::move(loaded).value();
    m_roles.resize(m_operators.calls().size());
    if (Status done = loadLibraryCalls(); !done.ok()) return done;
    if (Status done = loadArguments(); !done.ok()) return done;
    enum class Kind : uint8_t { Other, Product, Convolution, Copy, Cast };
    std::unordered_map<StringId, Kind> kinds;
    const auto kindOf = [](std::string_view name) {
      if (isProduct(name)) return Kind::Product;
      if (isConvolution(name)) return Kind::Convolution;
      return name == "aten::copy_" ? Kind::Copy : name == "cast" ? Kind::Cast : Kind::Other;
    };
    for (size_t i = 0; i < m_operators.calls().size(); ++i) {
      const OperatorCall& call = m_operators.calls()[i];
      if (call.source == OperatorSource::Library || !m_filter.events().keepsOnHost(call.process, call.start)) continue;
      const auto [known, isNew] = kinds.emplace(call.name, Kind::Other);
      if (isNew) known->second = kindOf(m_operators.nameOf(m_trace, call.name));
      const Kind kind = known->second;
      if (call.source == OperatorSource::Framework && (kind == Kind::Product || kind == Kind::Convolution)) {
        addProduct(i, call, kind == Kind::Convolution);
      }
      if (call.source == OperatorSource::Framework && kind == Kind::Copy) addCopy(i, call);
      if (call.source == OperatorSource::Range && kind == Kind::Cast) {
        m_roles[i].origin = Origin::Conversion;
        ++conversion(call.process, "", "range", &m_roles[i].row).count;
      }
    }
    return loadCastBytes();
  }

  void addProduct(size_t i, const OperatorCall& call, bool isConvolution) {
    m_roles[i] = {Origin::Product, static_cast<int64_t>(m_productCalls.size())};
    ProductCall& made = m_productCalls.emplace_back();
    made.process = call.process;
    made.thread = call.thread;
    made.time = {call.start, call.start + call.cpu};
    made.isConvolution = isConvolution;
    const auto argument = m_arguments.find(call.shape);
    if (argument == m_arguments.end()) return;
    const std::string_view name = m_trace.text(call.name);
    made.flops = isConvolution ? flopsOfConvolution(name, argument->second) : flopsOf(name, argument->second);
    for (const std::string_view type : argument->second.types) {
      if (made.format.empty()) made.format = formatOfTorchType(type);
    }
  }

  std::optional<double> flopsOfConvolution(std::string_view name, const Argument& argument) {
    const auto text = [this](StringId id) { return m_trace.text(id); };
    const auto work =
        workOfOperator(name, text(argument.dimsText), text(argument.typesText), text(argument.valuesText));
    return work ? std::optional(work->flops) : std::nullopt;
  }

  // The calls as rows, by the formats that their arguments and kernels tell.
  Status addProducts() {
    std::set<ProcessId> multiplyInTf32;  // on a device that takes fp32 operands to its tensor cores, as cuDNN does
    auto rows = m_trace.query("SELECT process_id FROM main.device WHERE kind = 'gpu' AND compute_major >= 8");
    if (!rows.ok()) return rows.error();
    while (rows.value().next()) multiplyInTf32.insert(rows.value().id<ProcessId>(0));
    if (const Status status = rows.value().status(); !status.ok()) return status.error();
    for (const ProductCall& call : m_productCalls) {
      if (call.isConvolution && call.work.gpuTime == Duration())
        continue;  // one inside it counts, or it ran on the host
      std::string_view format = call.format;
      if (format.empty() || (format == "fp32" && call.kernelFormat == "tf32")) format = call.kernelFormat;
      const bool mayBeTf32 = call.isConvolution && call.kernelFormat.empty() && multiplyInTf32.contains(call.process);
      if (format.empty() || (format == "fp32" && mayBeTf32)) format = "unknown";
      MatrixProducts& row = product(call.process, format, call.isConvolution ? "convolution" : "operator");
      count(row, call.flops, call.thread, call.time);
      row.gpuTime += call.work.gpuTime;
      if (call.work.longest) takeLongest(row, *call.work.longest, call.work.longestTime);
    }
    return Unit{};
  }

  void count(MatrixProducts& row, std::optional<double> flops, ThreadId thread, Interval time) {
    if (flops && (row.flops || row.count == 0)) {
      row.flops = row.flops.value_or(0) + *flops;
    } else {
      row.flops.reset();  // a sum without some is none
    }
    ++row.count;
    if (row.inAutocast && m_autocast.innermost(thread.value(), time)) ++*row.inAutocast;
  }

  // A copy whose target and source have different types.
  void addCopy(size_t i, const OperatorCall& call) {
    const auto argument = m_arguments.find(call.shape);
    if (argument == m_arguments.end() || argument->second.types.size() < 2) return;
    const std::string_view to = formatOfTorchType(argument->second.types[0]);
    const std::string_view from = formatOfTorchType(argument->second.types[1]);
    if (to.empty() || from.empty() || to == from) return;
    m_roles[i].origin = Origin::Conversion;
    Conversions& row = conversion(call.process, fmt::format("{} to {}", from, to), "operator", &m_roles[i].row);
    ++row.count;
    if (argument->second.shapes.empty()) return;
    row.bytes = row.bytes.value_or(0) + static_cast<int64_t>(elementsOf(argument->second.shapes[0])) *
                                            (bytesOfFormat(to) + bytesOfFormat(from));
  }

  Status loadArguments() {
    auto rows = m_trace.query("SELECT id, dims_id, types_id, values_id FROM operator_argument_set");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      const auto dims = row.id<StringId>(1), types = row.id<StringId>(2);
      m_arguments.emplace(row.integer(0), Argument{shapesOf(m_trace.text(dims)), textsOf(m_trace.text(types)), dims,
                                                   types, row.id<StringId>(3)});
    }
    return row.status();
  }

  Status loadLibraryCalls() {
    auto rows = m_trace.query(
        "SELECT process_id, thread_id, start_ns, duration_ns, compute_type_id, flops, external_id FROM "
        "main.library_call");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      const ProcessId process = row.id<ProcessId>(0);
      if (!isUsableTime(row.integer(2), row.integer(3)) || !m_filter.events().keepsOnHost(process, row.time(2)))
        continue;
      int64_t index = 0;
      MatrixProducts& mine = product(process, m_trace.text(row.id<StringId>(4)), "library call", &index);
      count(mine, row.real(5), row.id<ThreadId>(1), intervalOf(row.integer(2), row.integer(3)));
      m_byExternal.emplace(std::pair(process.value(), row.integer(6)), index);
    }
    if (const Status status = row.status(); !status.ok()) return status.error();
    if (m_byExternal.empty()) return Unit{};
    auto links = m_trace.query("SELECT process_id, external_id, correlation FROM main.correlation_link");
    if (!links.ok()) return links.error();
    Statement& link = links.value();
    while (link.next()) {
      const auto mine = m_byExternal.find({link.integer(0), link.integer(1)});
      if (mine != m_byExternal.end())
        m_byCorrelation.emplace(std::pair(link.integer(0), link.integer(2)), mine->second);
    }
    return link.status();
  }

  Status loadCastBytes() {
    auto rows = m_trace.query(
        "SELECT r.process_id, r.start_ns, p.value FROM main.range_payload p JOIN main.range r ON r.id = p.range_id"
        " WHERE p.name_id IN (SELECT id FROM main.string WHERE text = 'bytes')"
        " AND r.name_id IN (SELECT id FROM main.string WHERE text = 'cast') AND r.duration_ns IS NOT NULL");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      const ProcessId process = row.id<ProcessId>(0);
      if (!m_filter.events().keepsOnHost(process, row.time(1))) continue;
      int64_t index = 0;
      Conversions& mine = conversion(process, "", "range", &index);
      mine.bytes = addSaturated(mine.bytes.value_or(0), row.integer(2));
    }
    return row.status();
  }

  // Which work belongs to what; without library calls and operators the kernels' names tell.
  Status loadWork() {
    auto classifier = CommunicationClassifier::load(m_trace);
    if (!classifier.ok()) return classifier.error();
    auto calls = HostCallIndex::load(m_trace);
    if (!calls.ok()) return calls.error();
    std::set<ProcessId> told;
    for (const auto& [key, row] : m_products) told.insert(key.first);
    for (const ProductCall& call : m_productCalls) told.insert(call.process);
    std::unordered_map<StringId, std::string_view> formats;
    const auto formatOf = [&](const LaunchedWork& work) {
      if (work.what != WorkKind::Kernel) return std::string_view();
      const auto [format, isNew] = formats.emplace(work.name, std::string_view());
      if (isNew) format->second = formatOfGemmKernel(m_trace.text(work.name));
      return format->second;
    };
    return forEachLaunchedWork(m_trace, classifier.value(), calls.value(), [&](const LaunchedWork& work) {
      const auto library = m_byCorrelation.find({work.process.value(), work.correlation.value()});
      if (library != m_byCorrelation.end()) {
        addWork(m_productRows[static_cast<size_t>(library->second)], work);
        return;
      }
      if (const auto found = m_operators.find(work); found && m_roles[*found].origin != Origin::None) {
        const Role& role = m_roles[*found];
        if (role.origin == Origin::Product) {
          addToCall(m_productCalls[static_cast<size_t>(role.row)], work, formatOf(work));
        } else {
          m_conversionRows[static_cast<size_t>(role.row)].gpuTime += work.time.length();
        }
        return;
      }
      if (work.what != WorkKind::Kernel || told.count(work.process)) return;
      const std::string_view format = formatOf(work);
      if (format.empty() || !m_filter.keeps(work.process, work.correlation, work.time.start)) return;
      MatrixProducts& mine = product(work.process, format, "kernel name");
      mine.inAutocast.reset();
      ++mine.count;
      addWork(mine, work);
    });
  }

  static void addWork(MatrixProducts& products, const LaunchedWork& work) {
    products.gpuTime += work.time.length();
    if (work.what == WorkKind::Kernel) takeLongest(products, work.id, work.time);
  }

  static void takeLongest(MatrixProducts& products, int64_t kernel, Interval time) {
    if (products.longest && time.length() <= products.longestTime.length()) return;
    products.longest = kernel;
    products.longestTime = time;
  }

  static void addToCall(ProductCall& call, const LaunchedWork& work, std::string_view format) {
    addWork(call.work, work);
    if (format.empty() || format == "unknown" || work.time.length() <= call.kernelTime) return;
    call.kernelFormat = format;
    call.kernelTime = work.time.length();
  }

  Status loadScales() {
    auto rows = m_trace.query(
        "SELECT process_id, start_ns, value FROM main.counter_sample WHERE name_id IN"
        " (SELECT id FROM main.string WHERE text LIKE '%scale%' AND (text LIKE '%loss%' OR text LIKE '%grad%'))"
        " UNION ALL SELECT r.process_id, r.start_ns, p.value FROM main.range r JOIN main.range_payload p ON p.range_id "
        "= r.id"
        " WHERE r.name_id IN (SELECT id FROM main.string WHERE text = 'unscale')"
        " AND p.name_id IN (SELECT id FROM main.string WHERE text = 'payload')");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      const ProcessId process = row.id<ProcessId>(0);
      if (m_filter.events().keepsOnHost(process, row.time(1)))
        m_results[process].scales.push_back({row.time(1), row.real(2)});
    }
    return row.status();
  }

  Status loadSkips() {
    auto rows = m_trace.query(
        "SELECT process_id, start_ns FROM main.range WHERE name_id IN"
        " (SELECT id FROM main.string WHERE text IN ('skipped step', 'skipped_step'))");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      const ProcessId process = row.id<ProcessId>(0);
      ProcessPrecision& mine = m_results[process];
      mine.skipsAreDeclared = true;
      if (m_filter.events().keepsOnHost(process, row.time(1))) mine.skippedSteps.push_back(row.time(1));
    }
    return row.status();
  }

  using RowKey = std::pair<ProcessId, std::pair<std::string, std::string>>;
  Trace& m_trace;
  const WorkFilter& m_filter;
  std::set<ProcessId> m_autocastOf;
  HostForest m_autocast;  // track: thread
  OperatorIndex m_operators;
  std::vector<Role> m_roles;  // by operator
  std::vector<ProductCall> m_productCalls;
  std::unordered_map<int64_t, Argument> m_arguments;
  std::map<std::pair<int64_t, int64_t>, int64_t> m_byExternal, m_byCorrelation;  // to a row of products
  std::map<RowKey, size_t> m_products, m_conversions;
  std::vector<MatrixProducts> m_productRows;
  std::vector<Conversions> m_conversionRows;
  std::map<ProcessId, ProcessPrecision> m_results;
};

}  // namespace

Result<std::vector<ProcessPrecision>> analyzePrecision(Trace& trace, const Filter& filter) {
  auto kept = WorkFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  PrecisionAnalysis analysis(trace, kept.value());
  if (const Status done = analysis.run(); !done.ok()) return done.error();
  return analysis.take();
}

}  // namespace plumb
