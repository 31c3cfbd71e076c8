// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/roofline_operators.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "analyzer/analyses/convolution_operators.h"
#include "analyzer/analyses/operator_work.h"
#include "analyzer/analyses/precision.h"

namespace plumb {
namespace {

// Of an operator_argument_set.
struct Texts {
  StringId dims, types, values, strides;
};
Texts textsAt(const Statement& row, int column) {
  return {row.id<StringId>(column), row.id<StringId>(column + 1), row.id<StringId>(column + 2),
          row.id<StringId>(column + 3)};
}

// Reads operator_argument_set; none: no such row.
class ArgumentSets {
 public:
  explicit ArgumentSets(Trace& trace) : m_trace(trace) {}

  std::optional<OperatorArguments> ofSet(int64_t id) {
    const auto texts = textsOfSet(id);
    return texts ? std::optional(argumentsOf(*texts)) : std::nullopt;
  }
  std::optional<Texts> textsOfSet(int64_t id) {
    return find(m_sets, "SELECT dims_id, types_id, values_id, strides_id FROM operator_argument_set WHERE id = ?", id);
  }
  std::optional<OperatorArguments> ofOperator(int64_t id) {
    const auto texts = find(m_operators,
                            "SELECT a.dims_id, a.types_id, a.values_id, a.strides_id FROM operator o"
                            " JOIN operator_argument_set a ON a.id = o.argument_set_id WHERE o.id = ?",
                            id);
    return texts ? std::optional(argumentsOf(*texts)) : std::nullopt;
  }
  OperatorArguments argumentsOf(const Texts& texts) {
    return {m_trace.text(texts.dims), m_trace.text(texts.types), m_trace.text(texts.values),
            m_trace.text(texts.strides)};
  }

 private:
  std::optional<Texts> find(std::optional<Statement>& statement, const char* sql, int64_t id) {
    if (!statement) {
      auto prepared = m_trace.query(sql);
      if (!prepared.ok()) return std::nullopt;
      statement.emplace(std::move(prepared).value());
    }
    statement->reset();
    statement->bind(1, id);
    return statement->next() ? std::optional(textsAt(*statement, 0)) : std::nullopt;
  }

  Trace& m_trace;
  std::optional<Statement> m_sets, m_operators;
};

// What is known of the calls of an operator with the same arguments.
struct Known {
  std::optional<OperatorWork> work;
  std::optional<ListWork> list;
  int64_t unknown = kNoOperator;  // index of what is not known
};

// Which operator has which work (not negative), or what is not known of it (~index). In order of id.
using Owners = std::vector<std::pair<int64_t, int64_t>>;

// Convolutions whose own arguments do not tell all sizes.
class Convolutions {
 public:
  Convolutions(Trace& trace, ArgumentSets& sets) : m_trace(trace), m_sets(sets) {}

  // Of a gradient: with the arguments of the operator around it.
  std::optional<OperatorWork> gradient(std::string_view name, const OperatorArguments& own, int64_t parent) {
    const auto around = m_sets.ofOperator(parent);
    return around ? workOfConvolutionGradient(name, own, *around) : std::nullopt;
  }

  // Forward: with the shapes of the backward operator of the same sequence number.
  std::optional<OperatorWork> forward(std::string_view name, const OperatorArguments& own, int64_t process,
                                      int64_t sequence) {
    if (!m_isLoaded && !load().ok()) return std::nullopt;
    const auto [begin, end] = m_backward.equal_range({process, sequence});  // a number per thread
    for (auto backward = begin; backward != end; ++backward) {
      if (auto work = workOfConvolution(name, own, backward->second)) return work;
    }
    return std::nullopt;
  }

 private:
  // The sequence number is that of the operator around it.
  Status load() {
    m_isLoaded = true;
    auto rows = m_trace.query(
        "SELECT o.name_id, a.dims_id, a.types_id, a.values_id, a.strides_id, p.process_id, p.sequence"
        " FROM operator o JOIN main.string s ON s.id = o.name_id JOIN operator p ON p.id = o.parent_id"
        " JOIN operator_argument_set a ON a.id = o.argument_set_id"
        " WHERE s.text LIKE 'aten::%convolution_backward' AND p.sequence IS NOT NULL");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      const auto shapes =
          shapesOfConvolutionBackward(m_trace.text(row.id<StringId>(0)), m_sets.argumentsOf(textsAt(row, 1)));
      if (shapes) m_backward.emplace(std::pair(row.integer(5), row.integer(6)), *shapes);
    }
    return row.status();
  }

  Trace& m_trace;
  ArgumentSets& m_sets;
  bool m_isLoaded = false;
  std::multimap<std::pair<int64_t, int64_t>, ConvolutionShapes> m_backward;  // by process and sequence number
};

class Loader {
 public:
  Loader(Trace& trace, CollectedWork& collected, UntypedWorks& untyped)
      : m_trace(trace), m_collected(collected), m_untyped(untyped), m_sets(trace), m_convolutions(trace, m_sets) {}

  Status load() {
    auto rows =
        m_trace.query("SELECT id, process_id, start_ns, name_id, argument_set_id, parent_id, sequence FROM operator");
    if (!rows.ok()) return rows.error();
    while (rows.value().next()) add(rows.value());
    if (Status status = rows.value().status(); !status.ok()) return status;
    if (!std::ranges::is_sorted(m_owners)) std::ranges::sort(m_owners);
    return Unit{};
  }

  Status give(LaunchOwners& owners) {
    auto rows = m_trace.query("SELECT process_id, correlation, operator_id FROM operator_launch");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      const int64_t id = row.integer(2);
      const auto owner = std::ranges::lower_bound(m_owners, id, {}, &Owners::value_type::first);
      if (owner == m_owners.end() || owner->first != id) continue;
      owners.try_emplace({row.integer(0), row.integer(1)}, owner->second);
    }
    return row.status();
  }

 private:
  void add(const Statement& row) {
    const StringId name = row.id<StringId>(3);
    const int64_t id = row.integer(0);
    const Name& of = infoOf(name);
    if (!of.hasFormula || row.isNull(4)) {
      m_owners.emplace_back(id, ~of.withoutArguments);
      return;
    }
    const auto [found, isNew] = m_known.try_emplace({name.value(), row.integer(4)});
    Known& known = found->second;
    if (isNew) known = workOf(name, row.integer(4));
    if (known.work) {
      m_owners.emplace_back(id, addWork(row, *known.work));
    } else if (known.list) {
      const int64_t index = addWork(row, {});
      m_owners.emplace_back(id, index);
      m_untyped.add(static_cast<size_t>(index), *known.list, known.unknown);
    } else if (const auto work = of.isConvolution ? convolutionWork(row) : std::nullopt) {
      m_owners.emplace_back(id, addWork(row, *work));
    } else {
      m_owners.emplace_back(id, ~known.unknown);
    }
  }

  // Its index.
  int64_t addWork(const Statement& row, const OperatorWork& found) {
    Work& work = m_collected.works.emplace_back();
    work.source = WorkSource::Shape;
    work.process = row.id<ProcessId>(1);
    work.start = row.time(2);
    work.operation = row.id<StringId>(3);
    work.precision = found.precision;
    work.precisionAssumed = found.precisionAssumed;
    work.flops = found.flops;
    work.bytes = found.bytes;
    work.written = found.written;
    return static_cast<int64_t>(m_collected.works.size()) - 1;
  }

  struct Name {
    bool hasFormula = false, isConvolution = false;
    int64_t withoutArguments = kNoOperator;  // index of what is not known without them
  };
  const Name& infoOf(StringId name) {
    const auto [found, isNew] = m_names.try_emplace(name);
    if (!isNew) return found->second;
    const std::string_view text = m_trace.text(name);
    const bool hasFormula = hasWorkFormula(text);
    const int64_t unknown = unknownOperator(
        name, hasFormula ? "shapes and types of its arguments are not recorded" : whyWorkIsUnknown(text, {}, {}, {}));
    found->second = {hasFormula, isConvolutionGradient(text) || isConvolutionOperator(text), unknown};
    return found->second;
  }

  Known workOf(StringId name, int64_t set) {
    const auto texts = m_sets.textsOfSet(set);
    Known known{std::nullopt, std::nullopt, infoOf(name).withoutArguments};
    if (!texts) return known;
    const std::string_view text = m_trace.text(name), dims = m_trace.text(texts->dims),
                           types = m_trace.text(texts->types), values = m_trace.text(texts->values),
                           strides = m_trace.text(texts->strides);
    known.work = workOfOperator(text, dims, types, values, strides);
    if (known.work) return known;
    if (isListOperator(text)) {
      known.list = workOfListOperator(text, OperatorArguments(dims, types, values, strides));
    }
    known.unknown = unknownOperator(name, whyWorkIsUnknown(text, dims, types, values));
    return known;
  }

  // With what other operators tell.
  std::optional<OperatorWork> convolutionWork(const Statement& row) {
    const std::string_view name = m_trace.text(row.id<StringId>(3));
    const auto arguments = m_sets.ofSet(row.integer(4));
    if (!arguments) return std::nullopt;
    if (isConvolutionGradient(name)) {
      return row.isNull(5) ? std::nullopt : m_convolutions.gradient(name, *arguments, row.integer(5));
    }
    return row.isNull(6) ? std::nullopt : m_convolutions.forward(name, *arguments, row.integer(1), row.integer(6));
  }

  int64_t unknownOperator(StringId name, std::string why) {
    const auto index = static_cast<int64_t>(m_collected.unknownOperators.size());
    const auto [found, isNew] = m_unknown.try_emplace({name, why}, index);
    if (isNew) m_collected.unknownOperators.push_back({name, std::move(why)});
    return found->second;
  }

  Trace& m_trace;
  CollectedWork& m_collected;
  UntypedWorks& m_untyped;
  ArgumentSets m_sets;
  Convolutions m_convolutions;
  Owners m_owners;
  std::unordered_map<StringId, Name> m_names;
  std::unordered_map<IdPair, Known, IdPairHash> m_known;  // by name and argument set
  std::map<std::pair<StringId, std::string>, int64_t> m_unknown;
};

}  // namespace

void UntypedWorks::see(std::vector<Work>& works, size_t work, StringId kernelName) {
  if (works[work].precisionAssumed && multipliesInTf32(kernelName)) {
    works[work].precision = "tf32";
    works[work].precisionAssumed = false;
  }
  const auto list = m_lists.find(work);
  if (list == m_lists.end()) return;
  const auto [element, isNew] = m_elements.try_emplace(kernelName);
  if (isNew) element->second = listElementOf(m_trace.text(kernelName));
  if (!element->second) return;
  const OperatorWork typed = list->second.list.of(*element->second);
  works[work].precision = typed.precision;
  works[work].flops = typed.flops;
  works[work].bytes = typed.bytes;
  works[work].written = typed.written;
  m_lists.erase(list);
}

bool UntypedWorks::multipliesInTf32(StringId kernelName) {
  const auto [known, isNew] = m_inTf32.try_emplace(kernelName);
  if (isNew) known->second = formatOfGemmKernel(m_trace.text(kernelName)) == "tf32";
  return known->second;
}

std::vector<std::pair<size_t, int64_t>> UntypedWorks::rest() const {
  std::vector<std::pair<size_t, int64_t>> result;
  for (const auto& [work, untyped] : m_lists) result.emplace_back(work, untyped.unknown);
  return result;
}

Status loadOperators(Trace& trace, CollectedWork& collected, UntypedWorks& untyped, LaunchOwners& owners) {
  auto shaped = trace.query("SELECT 1 FROM operator_argument_set LIMIT 1");
  if (!shaped.ok()) return shaped.error();
  if (!shaped.value().next()) return shaped.value().status();
  Loader loader(trace, collected, untyped);
  if (Status status = loader.load(); !status.ok()) return status;
  return loader.give(owners);
}

}  // namespace plumb
