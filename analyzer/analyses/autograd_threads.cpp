// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/autograd_threads.h"

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "analyzer/analyses/torch_ranges.h"
#include "analyzer/trace/row_scan.h"

namespace plumb {
namespace {

// "autograd::engine::evaluate_function: MmBackward0", "torch::autograd::AccumulateGrad", "AddmmBackward".
bool isGraphNode(std::string_view text) {
  std::string_view name = torchRangeName(text).name;
  if (name.starts_with("autograd::engine::") || name.starts_with("torch::autograd::")) return true;
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.size() > 8 && name.ends_with("Backward");
}

struct Outermost {
  int64_t all = 0, nodes = 0;
};

}  // namespace

Result<std::unordered_set<ThreadId>> findAutogradThreads(Trace& trace) {
  std::unordered_set<ThreadId> found;
  auto named = trace.query(
      "SELECT t.id FROM main.thread t JOIN main.string s ON s.id = t.name_id"
      " WHERE instr(s.text, 'pt_autograd') > 0");
  if (!named.ok()) return named.error();
  while (named.value().next()) found.insert(named.value().id<ThreadId>(0));
  if (const Status status = named.value().status(); !status.ok()) return status.error();
  if (!found.empty()) return found;  // a torch that names them names all

  std::unordered_map<StringId, bool> isNode;
  std::unordered_map<ThreadId, Outermost> threads;
  for (const char* table : {"main.operator", "main.range"}) {
    const Status read = scanRows(trace.database(), "thread_id, name_id, parent_id", table, [&](const RowValues& row) {
      if (!row.isNull(2)) return;
      const auto [known, isNew] = isNode.try_emplace(row.id<StringId>(1));
      if (isNew) known->second = isGraphNode(trace.text(known->first));
      Outermost& mine = threads[row.id<ThreadId>(0)];
      ++mine.all;
      if (known->second) ++mine.nodes;
    });
    if (!read.ok()) return read.error();
  }
  for (const auto& [thread, outermost] : threads) {
    if (2 * outermost.nodes > outermost.all) found.insert(thread);
  }
  return found;
}

}  // namespace plumb
