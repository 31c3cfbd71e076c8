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
#include "analyzer/analyses/range_times.h"
#include "analyzer/analyses/work_filter.h"

namespace plumb {
namespace {

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

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

bool isProduct(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames = {"aten::mm",  "aten::addmm",   "aten::addmm_",
                                                             "aten::bmm", "aten::baddbmm", "aten::_scaled_mm"};
  return std::ranges::count(kNames, name) > 0;
}

enum class Origin : uint8_t { None, Product, Conversion };

// What one operator, range or library call is to this analysis, and the row that it counts for.
struct Role {
  Origin origin = Origin::None;
  int64_t row = -1;
};

class PrecisionAnalysis {
 public:
  PrecisionAnalysis(Trace& trace, const WorkFilter& filter) : m_trace(trace), m_filter(filter) {}

  Status run() {
    if (Status done = loadAutocast(); !done.ok()) return done;
    if (Status done = loadOperators(); !done.ok()) return done;
    if (Status done = loadWork(); !done.ok()) return done;
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
    std::unordered_map<StringId, int> kinds;  // 1: product, 2: copies, 3: a range called cast
    for (size_t i = 0; i < m_operators.calls().size(); ++i) {
      const OperatorCall& call = m_operators.calls()[i];
      if (call.source == OperatorSource::Library || !m_filter.events().keepsOnHost(call.process, call.start)) continue;
      const auto [kind, isNew] = kinds.emplace(call.name, 0);
      if (isNew) {
        const std::string_view name = m_operators.nameOf(m_trace, call.name);
        kind->second = isProduct(name) ? 1 : name == "aten::copy_" ? 2 : name == "cast" ? 3 : 0;
      }
      if (call.source == OperatorSource::Framework && kind->second == 1) addProduct(i, call);
      if (call.source == OperatorSource::Framework && kind->second == 2) addCopy(i, call);
      if (call.source == OperatorSource::Range && kind->second == 3) {
        m_roles[i].origin = Origin::Conversion;
        ++conversion(call.process, "", "range", &m_roles[i].row).count;
      }
    }
    return loadCastBytes();
  }

  void addProduct(size_t i, const OperatorCall& call) {
    const auto argument = m_arguments.find(call.shape);
    std::string_view format;
    std::optional<double> flops;
    if (argument != m_arguments.end()) {
      flops = flopsOf(m_trace.text(call.name), argument->second);
      for (const std::string_view type : argument->second.types) {
        if (format.empty()) format = formatOfTorchType(type);
      }
    }
    m_roles[i].origin = Origin::Product;
    MatrixProducts& row = product(call.process, format.empty() ? "unknown" : format, "operator", &m_roles[i].row);
    count(row, flops, call.thread, {call.start, call.start + call.cpu});
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
    auto rows = m_trace.query("SELECT id, dims_id, types_id FROM operator_argument_set");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      m_arguments.emplace(row.integer(0), Argument{shapesOf(m_trace.text(row.id<StringId>(1))),
                                                   textsOf(m_trace.text(row.id<StringId>(2)))});
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
    std::unordered_map<StringId, std::string_view> formats;
    return forEachLaunchedWork(m_trace, classifier.value(), calls.value(), [&](const LaunchedWork& work) {
      const auto library = m_byCorrelation.find({work.process.value(), work.correlation.value()});
      if (library != m_byCorrelation.end()) {
        addWork(m_productRows[static_cast<size_t>(library->second)], work);
        return;
      }
      if (const auto found = m_operators.find(work); found && m_roles[*found].origin != Origin::None) {
        const Role& role = m_roles[*found];
        if (role.origin == Origin::Product) {
          addWork(m_productRows[static_cast<size_t>(role.row)], work);
        } else {
          m_conversionRows[static_cast<size_t>(role.row)].gpuTime += work.time.length();
        }
        return;
      }
      if (work.what != WorkKind::Kernel || told.count(work.process)) return;
      const auto [format, isNew] = formats.emplace(work.name, std::string_view());
      if (isNew) format->second = formatOfGemmKernel(m_trace.text(work.name));
      if (format->second.empty() || !m_filter.keeps(work.process, work.correlation, work.time.start)) return;
      MatrixProducts& mine = product(work.process, format->second, "kernel name");
      mine.inAutocast.reset();
      ++mine.count;
      addWork(mine, work);
    });
  }

  static void addWork(MatrixProducts& products, const LaunchedWork& work) {
    products.gpuTime += work.time.length();
    if (work.what != WorkKind::Kernel) return;
    if (products.longest && work.time.length() <= products.longestTime.length()) return;
    products.longest = work.id;
    products.longestTime = work.time;
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

std::string_view formatOfTorchType(std::string_view type) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {{"float", "fp32"},
                                                                             {"double", "fp64"},
                                                                             {"c10::Half", "fp16"},
                                                                             {"c10::BFloat16", "bf16"},
                                                                             {"c10::Float8_e4m3fn", "fp8"},
                                                                             {"c10::Float8_e5m2", "fp8"},
                                                                             {"c10::Float8_e4m3fnuz", "fp8"},
                                                                             {"c10::Float8_e5m2fnuz", "fp8"}};
  for (const auto& [name, format] : kTypes) {
    if (name == type) return format;
  }
  return {};
}

int64_t bytesOfFormat(std::string_view format) {
  if (format == "fp64") return 8;
  if (format == "fp32" || format == "tf32") return 4;
  if (format == "fp16" || format == "bf16") return 2;
  return format == "fp8" ? 1 : 0;
}

std::string_view formatOfGemmKernel(std::string_view name) {
  const std::string text = lowered(name);
  const bool isGemm = has(text, "gemm") || has(text, "cijk_") || has(text, "nvjet");
  if (!isGemm || has(text, "reduce") || has(text, "gemmk1")) return {};
  // What the multiplication reads, in the order of what tells most.
  static constexpr std::pair<std::string_view, std::string_view> kSigns[] = {
      {"e4m3", "fp8"},      {"e5m2", "fp8"},         {"fp8", "fp8"},
      {"bf16bf16", "bf16"}, {"gemm_bf16", "bf16"},   {"bfloat16", "bf16"},
      {"bf16", "bf16"},     {"tf32", "tf32"},        {"s1688gemm", "tf32"},
      {"f16f16", "fp16"},   {"gemm_f16", "fp16"},    {"gemm_fp16", "fp16"},
      {"hgemm", "fp16"},    {"h884", "fp16"},        {"s884", "fp16"},
      {"h1688", "fp16"},    {"h16816", "fp16"},      {"s16816gemm_fp16", "fp16"},
      {"_half", "fp16"},    {"fp16", "fp16"},        {"dgemm", "fp64"},
      {"d884", "fp64"},     {"sgemm", "fp32"},       {"f32f32", "fp32"},
      {"gemm_f32", "fp32"}, {"f32_f32_f32", "fp32"}, {"_f16_", "fp16"}};
  for (const auto& [sign, format] : kSigns) {
    if (has(text, sign)) return format;
  }
  if (has(text, "cijk_")) {  // Tensile: the layout is followed by the types: …_BBS_…, _HHS_, _SB_
    for (const auto& [sign, format] : {std::pair<std::string_view, std::string_view>{"_bbs", "bf16"},
                                       {"_b_bs", "bf16"},
                                       {"_hhs", "fp16"},
                                       {"_h_hs", "fp16"},
                                       {"_hb", "fp16"},
                                       {"_s_", "fp32"},
                                       {"_sb", "fp32"},
                                       {"_db", "fp64"}}) {
      if (has(text, sign)) return format;
    }
  }
  return "unknown";
}

}  // namespace plumb
