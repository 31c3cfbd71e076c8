// SPDX-License-Identifier: Apache-2.0
// The part of ChromeWriter that knows collectives. What torch.profiler says of one stands on the operator that enqueued
// it and on its kernel; one that says more, or has neither, has an event of its own.
#include <algorithm>
#include <cmath>

#include "analyzer/export/chrome_members.h"
#include "analyzer/export/chrome_names.h"
#include "analyzer/export/chrome_writer.h"

namespace plumb::exports {
namespace {

enum Column : uint8_t {
  kId,
  kThread,
  kStart,
  kDuration,
  kOperation,
  kType,
  kElements,
  kBytes,
  kSequence,
  kRoot,
  kPeer,
  kAlgorithm,
  kProtocol,
  kChannels,
  kExternal,
  kSize,
  kHash,
  kGroup,
  kCommunicator,
  kRank,
  kHasDetail,
  kInput,
  kOutput,
  kInputSplits,
  kOutputSplits,
  kIsAsync,
  kOperator,
  kState,
  kStateName,
  kP2pSequence,
  kStarted,
  kCompleted,
  kTimeout,
  kInputSizes,
  kOutputSizes,
  kStack,
  kMeasured,
  kMeasuredBy,
  kAlgbw,
  kBusbw,
};

constexpr const char* kCollectives =
    "SELECT c.id, c.thread_id, c.start_ns, c.duration_ns, c.operation_id, c.datatype_id, c.element_count, c.bytes,"
    " c.sequence, c.root, c.peer, c.algorithm_id, c.protocol_id, c.channels, c.external_id, m.n_ranks, m.hash,"
    " m.name_id, m.id, m.rank, d.collective_id IS NOT NULL, d.input_elements, d.output_elements, d.input_splits_id,"
    " d.output_splits_id, d.is_async, d.operator_id, s.state, s.name_id, s.p2p_sequence, s.started_ns, s.completed_ns,"
    " s.timeout_ns, s.input_sizes_id, s.output_sizes_id, s.stack_id, t.duration_ns, t.source, t.algbw_bytes_per_s,"
    " t.busbw_bytes_per_s FROM main.collective c LEFT JOIN main.communicator m ON m.id = c.communicator_id"
    " LEFT JOIN collective_detail d ON d.collective_id = c.id LEFT JOIN collective_state s ON s.collective_id = c.id"
    " LEFT JOIN collective_timing t ON t.collective_id = c.id WHERE c.process_id = ?1 ORDER BY c.id";

}  // namespace

Status ChromeWriter::loadMembers() {
  m_members.clear();
  return each(
      "SELECT m.communicator_id, m.rank FROM communicator_member m JOIN main.communicator c"
      " ON c.id = m.communicator_id WHERE c.process_id = ?1 ORDER BY m.communicator_id, m.position",
      [&](Statement& row) {
        std::string& ranks = m_members[row.integer(0)];
        ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", row.integer(1));
      });
}

// In torch.profiler's words.
std::string ChromeWriter::collectiveArguments(const Statement& row) const {
  const std::string_view operation = m_trace.text(row.id<StringId>(kOperation));
  const TorchType type = torchType(m_trace.text(row.id<StringId>(kType)));
  const int64_t own = row.integer(kElements), whole = type.bytes > 0 ? row.integer(kBytes) / type.bytes : own;
  Members members;
  members.addString("Collective name", torchOperation(operation));
  members.addNumber("In msg nelems",
                    row.isNull(kInput) ? (operation == "ReduceScatter" ? whole : own) : row.integer(kInput));
  members.addNumber("Out msg nelems",
                    row.isNull(kOutput) ? (operation == "AllGather" ? whole : own) : row.integer(kOutput));
  members.addNumber("Group size", row.integer(kSize));
  members.addString("dtype", type.name);
  members.addString("Process Group Name", row.isNull(kGroup)
                                              ? fmt::format("{:x}", static_cast<uint64_t>(row.integer(kHash)))
                                              : std::string(m_trace.text(row.id<StringId>(kGroup))));
  members.addNumber("Seq", row.integer(kSequence));
  if (const auto ranks = m_members.find(row.integer(kCommunicator)); ranks != m_members.end()) {
    members.addString("Process Group Ranks", fmt::format("[{}]", ranks->second));
  } else if (!row.isNull(kRank) && row.integer(kRank) >= 0) {
    members.addNumber("Rank", row.integer(kRank));
  }
  if (!row.isNull(kPeer)) members.addNumber(operation == "Recv" ? "Src Rank" : "Dst Rank", row.integer(kPeer));
  for (const auto& [column, key] : {std::pair(kInputSplits, "In split size"), {kOutputSplits, "Out split size"}}) {
    if (!row.isNull(column)) members.addString(key, m_trace.text(row.id<StringId>(column)));
  }
  if (!row.isNull(kIsAsync)) members.add("Is asynchronized op", row.integer(kIsAsync) != 0 ? "true" : "false");
  return members.take();
}

// What torch.profiler has no words for. Times count from the collective's start.
std::string ChromeWriter::collectiveState(const Statement& row) const {
  Members members;
  const auto text = [&](const char* key, int column) {
    if (!row.isNull(column)) members.addString(key, m_trace.text(row.id<StringId>(column)));
  };
  const auto number = [&](const char* key, int column) {
    if (!row.isNull(column)) members.addNumber(key, row.integer(column));
  };
  const auto after = [&](const char* key, int column) {
    int64_t ns = 0;
    if (row.isNull(column) || __builtin_sub_overflow(row.integer(column), row.integer(kStart), &ns)) return;
    members.addNumber(key, ns);
  };
  number("Root", kRoot);
  text("Algorithm", kAlgorithm);
  text("Protocol", kProtocol);
  number("Channels", kChannels);
  if (!row.isNull(kState)) members.addString("State", row.text(kState));
  text("Framework name", kStateName);
  number("P2P seq", kP2pSequence);
  after("Started after (ns)", kStarted);
  after("Completed after (ns)", kCompleted);
  number("Timeout (ns)", kTimeout);
  text("Input sizes", kInputSizes);
  text("Output sizes", kOutputSizes);
  number("Measured duration (ns)", kMeasured);
  if (!row.isNull(kMeasuredBy)) members.addString("Measured by", row.text(kMeasuredBy));
  for (const auto& [column, key] : {std::pair(kAlgbw, "algbw (B/s)"), {kBusbw, "busbw (B/s)"}}) {
    if (!row.isNull(column) && std::isfinite(row.real(column))) members.addNumber(key, row.real(column));
  }
  return members.take() + stackMember(row, kStack);
}

void ChromeWriter::collectiveEvent(Statement& row) {
  Members members;
  members.addMembers(collectiveArguments(row));
  members.addMembers(collectiveState(row));
  if (!row.isNull(kExternal)) members.add("correlations", fmt::format("[{}]", linkedTo(row.integer(kExternal))));
  event(R"({{"ph": "X", "cat": "collective", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
        quoted(row.id<StringId>(kOperation)), m_pid, tidOf(row.id<ThreadId>(kThread)), at(row.integer(kStart)),
        micros(row.integer(kDuration)), members.take());
}

Status ChromeWriter::loadCollectives() {
  m_collectives.clear();
  m_operatorCollectives.clear();
  m_ownCollectives.clear();
  if (Status loaded = loadMembers(); !loaded.ok()) return loaded;
  return each(kCollectives, [&](Statement& row) {
    const std::string arguments = collectiveArguments(row);
    bool isOnItsKernel = false;
    if (!row.isNull(kExternal)) {
      const int64_t external = row.integer(kExternal);
      for (auto at = std::ranges::lower_bound(m_links, std::pair(external, INT64_MIN));
           at != m_links.end() && at->first == external; ++at) {
        // Of several collectives in one launch the first speaks for it, as a JSON object has each key once.
        isOnItsKernel |= m_collectives.emplace(Correlation(at->second), arguments).second;
      }
    }
    const bool isOfOperator = !row.isNull(kOperator);
    if (isOfOperator) m_operatorCollectives.emplace(row.integer(kOperator), arguments);
    // An importer knew of it by its operator or its kernel alone.
    const bool isTold = row.integer(kHasDetail) != 0 && row.isNull(kState) && row.isNull(kMeasured);
    if (!isTold || (!isOfOperator && !isOnItsKernel)) m_ownCollectives.insert(row.integer(kId));
  });
}

Status ChromeWriter::collectiveEvents() {
  if (m_ownCollectives.empty()) return Unit{};
  return each(kCollectives, [&](Statement& row) {
    if (m_ownCollectives.contains(row.integer(kId))) collectiveEvent(row);
  });
}

}  // namespace plumb::exports
