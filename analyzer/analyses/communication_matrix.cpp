// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/communication_matrix.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

constexpr int64_t kMostPositions = 65536;  // of a communicator; one that claims more is damaged: of no known size

struct Communicator {
  int64_t hash = 0;
  int64_t size = 0;
  std::optional<int64_t> position;  // of its process
};

// Who is at a position of a communicator: ranks of the run by (hash, position).
class Members {
 public:
  [[nodiscard]] Status load(Trace& trace) {
    auto rows = trace.query("SELECT id, process_id, hash, n_ranks, rank FROM main.communicator");
    if (!rows.ok()) return rows.error();
    while (rows.value().next()) {
      Statement& row = rows.value();
      Communicator& communicator = m_byId[row.integer(0)];
      const int64_t size = row.integer(3);
      communicator = {row.integer(2), size <= kMostPositions ? size : 0, {}};
      if (row.integer(4) >= 0) communicator.position = row.integer(4);
      const Process* process = trace.process(row.id<ProcessId>(1));
      m_processOf[row.integer(0)] = row.id<ProcessId>(1);
      if (communicator.position && process && process->rank) {
        m_rankAt[{communicator.hash, *communicator.position}] = *process->rank;
      }
    }
    if (Status status = rows.value().status(); !status.ok()) return status;
    auto members = trace.query("SELECT communicator_id, position, rank FROM communicator_member");
    if (!members.ok()) return members.error();
    while (members.value().next()) {
      const auto communicator = m_byId.find(members.value().integer(0));
      if (communicator == m_byId.end()) continue;
      const int64_t position = members.value().integer(1), rank = members.value().integer(2);
      m_rankAt[{communicator->second.hash, position}] = rank;
      const Process* process = trace.process(m_processOf[communicator->first]);
      if (process && process->rank == rank && !communicator->second.position) communicator->second.position = position;
    }
    if (Status status = members.value().status(); !status.ok()) return status;
    // A communicator of all ranks, in a trace that does not say its order, has the run's.
    for (auto& [id, communicator] : m_byId) {
      const Process* process = trace.process(m_processOf[id]);
      if (communicator.position || !process || !process->rank || process->worldSize != communicator.size) continue;
      communicator.position = process->rank;
      for (int64_t rank = 0; rank < communicator.size; ++rank) {
        m_rankAt.try_emplace({communicator.hash, rank}, rank);
      }
    }
    return Unit{};
  }
  [[nodiscard]] const Communicator* find(int64_t id) const {
    const auto found = m_byId.find(id);
    return found == m_byId.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::optional<int64_t> rankAt(int64_t hash, int64_t position) const {
    const auto found = m_rankAt.find({hash, position});
    return found == m_rankAt.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<int64_t, Communicator> m_byId;
  std::map<int64_t, ProcessId> m_processOf;
  std::map<std::pair<int64_t, int64_t>, int64_t> m_rankAt;
};

// The numbers of "[1024, 2048]"; empty when it is none of that.
std::vector<int64_t> numbersIn(std::string_view text) {
  std::vector<int64_t> numbers;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), value);
    if (error == std::errc()) numbers.push_back(value);
    at = error == std::errc() ? end : at + 1;
  }
  return numbers;
}

// One collective or point-to-point operation of a rank.
struct Record {
  ProcessId process;
  TimePoint time;
  std::optional<int64_t> rank;  // of the process
  const Communicator* communicator;
  std::string_view operation, splits;
  double bytes;
  std::optional<int64_t> root, peer;
};

Status forEachRecord(Trace& trace, const Members& members, const std::function<void(const Record&)>& take) {
  auto rows = trace.query(
      "SELECT c.process_id, c.communicator_id, c.operation_id, c.bytes, c.root, c.peer, c.start_ns, d.input_splits_id"
      " FROM main.collective c LEFT JOIN collective_detail d ON d.collective_id = c.id");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  while (row.next()) {
    if (row.integer(3) < 0) continue;
    const Process* process = trace.process(row.id<ProcessId>(0));
    take({.process = row.id<ProcessId>(0),
          .time = row.time(6),
          .rank = process ? process->rank : std::nullopt,
          .communicator = row.isNull(1) ? nullptr : members.find(row.integer(1)),
          .operation = trace.text(row.id<StringId>(2)),
          .splits = row.isNull(7) ? std::string_view() : trace.text(row.id<StringId>(7)),
          .bytes = static_cast<double>(row.integer(3)),
          .root = row.optionalInteger(4),
          .peer = row.optionalInteger(5)});
  }
  return row.status();
}

// What an all-to-all with split sizes sends to others; none for everything else.
std::optional<std::vector<Sent>> splitParts(const Record& record) {
  std::vector<Sent> parts;
  const Communicator* c = record.communicator;
  if (!c || !c->position || record.splits.empty()) return {};
  const std::vector<int64_t> splits = numbersIn(record.splits);
  if (static_cast<int64_t>(splits.size()) != c->size) return {};
  double sum = 0;
  for (const int64_t split : splits) sum += static_cast<double>(split);
  if (sum <= 0) return {};
  for (size_t i = 0; i < splits.size(); ++i) {
    if (static_cast<int64_t>(i) == *c->position || splits[i] == 0) continue;
    parts.push_back({static_cast<int64_t>(i), record.bytes * static_cast<double>(splits[i]) / sum});
  }
  return parts;
}

class Builder {
 public:
  Builder(Trace& trace, const Members& members) : m_members(members) {
    for (const Process& process : trace.processes()) {
      if (process.rank) m_recorded.insert(*process.rank);
    }
  }

  void add(const Record& record) {
    if (record.operation == "Send" || record.operation == "Recv") return addPointToPoint(record);
    const Communicator* c = record.communicator;
    if (!c || !c->position || c->size <= 0) {
      ++m_matrix.withoutPlace;
      return;
    }
    const auto targetOf = [&](int64_t position) { return m_members.rankAt(c->hash, position); };
    if (const auto parts = splitParts(record)) {
      for (const Sent& part : *parts) count(record.rank, targetOf(part.target), TrafficConvention::Exact, part.bytes);
      return;
    }
    TrafficConvention convention = TrafficConvention::Ring;
    for (const Sent& sent :
         sentBy(record.operation, *c->position, c->size, record.bytes, record.root.value_or(0), convention)) {
      count(record.rank, targetOf(sent.target), convention, sent.bytes);
    }
  }

  CommunicationMatrix finish() {
    for (auto& [key, traffic] : m_traffic) m_matrix.traffic.push_back(traffic);
    return std::move(m_matrix);
  }

 private:
  void addPointToPoint(const Record& record) {
    if (!record.peer) {
      ++m_matrix.withoutPlace;
      return;
    }
    // NCCL counts peers within the communicator; without one the number is a rank of the run.
    const auto peer = record.communicator ? m_members.rankAt(record.communicator->hash, *record.peer) : record.peer;
    if (record.operation == "Send") return count(record.rank, peer, TrafficConvention::Exact, record.bytes);
    if (!peer || !m_recorded.count(*peer)) count(peer, record.rank, TrafficConvention::Exact, record.bytes);
  }

  void count(std::optional<int64_t> source, std::optional<int64_t> target, TrafficConvention convention, double bytes) {
    Traffic& traffic = m_traffic[{source, target, convention}];
    traffic.source = source;
    traffic.target = target;
    traffic.convention = convention;
    ++traffic.operationCount;
    traffic.bytes += bytes;
  }

  const Members& m_members;
  std::set<int64_t> m_recorded;
  std::map<std::tuple<std::optional<int64_t>, std::optional<int64_t>, TrafficConvention>, Traffic> m_traffic;
  CommunicationMatrix m_matrix;
};

}  // namespace

std::string_view nameOf(TrafficConvention convention) {
  static constexpr std::array<std::string_view, 4> kNames = {"exact", "ring", "pairwise", "direct"};
  return kNames[static_cast<size_t>(convention)];
}

std::vector<Sent> sentBy(std::string_view operation, int64_t position, int64_t n, double bytes, int64_t root,
                         TrafficConvention& convention) {
  convention = TrafficConvention::Ring;
  if (n < 2 || position < 0 || position >= n) return {};
  const double ranks = static_cast<double>(n);
  const int64_t next = (position + 1) % n;
  if (operation == "AllToAll" || operation == "AlltoAll") {
    convention = TrafficConvention::Pairwise;
    std::vector<Sent> sent;
    for (int64_t i = 1; i < n; ++i) sent.push_back({(position + i) % n, bytes / ranks});
    return sent;
  }
  if (operation == "Gather" || operation == "Scatter") {
    convention = TrafficConvention::Direct;
    if (operation == "Gather") return position == root ? std::vector<Sent>{} : std::vector<Sent>{{root, bytes / ranks}};
    std::vector<Sent> sent;
    for (int64_t i = 1; i < n && position == root; ++i) sent.push_back({(position + i) % n, bytes / ranks});
    return sent;
  }
  if (operation == "Broadcast") return next == root ? std::vector<Sent>{} : std::vector<Sent>{{next, bytes}};
  if (operation == "Reduce") return position == root ? std::vector<Sent>{} : std::vector<Sent>{{next, bytes}};
  if (operation == "AllReduce") return {{next, 2 * (ranks - 1) / ranks * bytes}};
  return {{next, (ranks - 1) / ranks * bytes}};
}

Result<CommunicationMatrix> communicationMatrix(Trace& trace, const Filter& filter) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  std::unordered_map<ProcessId, const IntervalSet*> windowOf;
  for (const ProcessWindows& window : windows.value()) windowOf[window.process] = &window.host;
  Members members;
  if (const Status loaded = members.load(trace); !loaded.ok()) return loaded.error();
  Builder builder(trace, members);
  const Status read = forEachRecord(trace, members, [&](const Record& record) {
    const auto window = windowOf.find(record.process);
    if (window != windowOf.end() && window->second->contains(record.time)) builder.add(record);
  });
  if (!read.ok()) return read.error();
  return builder.finish();
}

Result<std::vector<SentBytes>> sentBytes(Trace& trace, std::optional<int64_t> rank) {
  Members members;
  if (const Status loaded = members.load(trace); !loaded.ok()) return loaded.error();
  std::vector<SentBytes> result;
  const Status read = forEachRecord(trace, members, [&](const Record& record) {
    if (rank && record.rank != rank) return;
    double bytes = record.operation == "Send" ? record.bytes : 0;
    const Communicator* c = record.communicator;
    if (c && record.operation != "Send" && record.operation != "Recv") {
      auto parts = splitParts(record);
      TrafficConvention convention = TrafficConvention::Ring;
      const bool isAlike = record.operation.starts_with("All") || record.operation == "ReduceScatter";
      if (!parts && (c->position || isAlike)) {
        parts = sentBy(record.operation, c->position.value_or(0), c->size, record.bytes, record.root.value_or(0),
                       convention);
      }
      for (const Sent& part : parts.value_or(std::vector<Sent>())) bytes += part.bytes;
    }
    if (bytes > 0) result.push_back({record.process, record.time, bytes});
  });
  if (!read.ok()) return read.error();
  return result;
}

}  // namespace plumb
