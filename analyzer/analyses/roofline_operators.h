// SPDX-License-Identifier: Apache-2.0
// Operators of a framework as works (roofline_work.h), with the launches that they caused.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/analyses/list_operators.h"
#include "analyzer/analyses/roofline_work.h"
#include "analyzer/trace/trace.h"

namespace plumb {

using IdPair = std::pair<int64_t, int64_t>;  // as process and correlation
struct IdPairHash {
  size_t operator()(const IdPair& key) const {
    return std::hash<int64_t>{}(static_cast<int64_t>(static_cast<uint64_t>(key.first) * 0x9e3779b97f4a7c15u) ^
                                key.second);
  }
};

// What only the names of a work's kernels tell: the types of lists of tensors, and that a product of floats was in
// tf32.
class UntypedWorks {
 public:
  explicit UntypedWorks(Trace& trace) : m_trace(trace) {}

  void add(size_t work, const ListWork& list, int64_t unknown) { m_lists.try_emplace(work, Untyped{list, unknown}); }
  // Gives a work its bytes, or its precision, if this kernel of it tells the type.
  void see(std::vector<Work>& works, size_t work, StringId kernelName);
  // Of those whose type no kernel told: the work, and its index in CollectedWork::unknownOperators.
  [[nodiscard]] std::vector<std::pair<size_t, int64_t>> rest() const;

 private:
  struct Untyped {
    ListWork list;
    int64_t unknown;
  };
  [[nodiscard]] bool multipliesInTf32(StringId kernelName);

  Trace& m_trace;
  std::unordered_map<size_t, Untyped> m_lists;
  std::unordered_map<StringId, std::optional<KernelElement>> m_elements;  // by name
  std::unordered_map<StringId, bool> m_inTf32;                            // likewise
};

// Who caused a launch (process, correlation): the index of a work, or ~index in CollectedWork::unknownOperators.
using LaunchOwners = std::unordered_map<IdPair, int64_t, IdPairHash>;

// Launches that have an owner already keep it.
[[nodiscard]] Status loadOperators(Trace& trace, CollectedWork& collected, UntypedWorks& untyped, LaunchOwners& owners);

}  // namespace plumb
