// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_stragglers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyzer/analyses/hta/hta_host_events.h"
#include "analyzer/analyses/hta/hta_statistics.h"

namespace plumb::hta {
namespace {

struct Iteration {
  Period period;  // its end does not belong to it
  int64_t number = 0;
};

// What it takes for steps: also what the profiler draws on the GPU.
Result<std::vector<Iteration>> loadIterations(Trace& trace, const Rank& rank) {
  auto rows = trace.query(
      "SELECT r.start_ns, r.duration_ns, n.text FROM main.range r JOIN main.string n ON n.id = r.name_id"
      " WHERE r.process_id = ?1 AND r.duration_ns IS NOT NULL AND n.text GLOB 'ProfilerStep*'"
      " UNION ALL SELECT start_ns, duration_ns, 'ProfilerStep#' || step FROM steps WHERE process_id = ?1"
      " AND duration_ns IS NOT NULL AND name NOT LIKE '%ProfilerStep%'");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  row.bind(1, rank.process.value());
  std::vector<Iteration> iterations;
  while (row.next()) {
    const std::string_view name = row.text(2);
    const size_t mark = name.find('#');
    if (mark == std::string_view::npos || !isUsableTime(row.integer(0), row.integer(1))) continue;
    Iteration one;
    (void)std::from_chars(name.data() + mark + 1, name.data() + name.size(), one.number);
    const Microseconds time = rounded(trace, row.integer(0), row.integer(1));
    one.period = {time.ts, time.ts + time.dur};
    iterations.push_back(one);
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  return iterations;
}

// Which step a moment belongs to: of overlapping ranges the one that comes last in the file.
class IterationMap {
 public:
  // Steps that are not in `kept` count as none: HTA looks at those only that kept one of their ranges.
  IterationMap(const std::vector<Iteration>& iterations, const std::set<int64_t>& kept) {
    std::vector<std::tuple<int64_t, bool, size_t>> changes;  // time, whether it begins, index
    for (size_t i = 0; i < iterations.size(); ++i) {
      if (iterations[i].period.end <= iterations[i].period.start) continue;
      changes.emplace_back(iterations[i].period.start, true, i);
      changes.emplace_back(iterations[i].period.end, false, i);
    }
    std::ranges::sort(changes);
    std::set<size_t> open;
    for (const auto& [time, begins, index] : changes) {
      if (begins) {
        open.insert(index);
      } else {
        open.erase(index);
      }
      std::optional<int64_t> number;
      if (!open.empty() && kept.contains(iterations[*open.rbegin()].number)) number = iterations[*open.rbegin()].number;
      m_from[time] = number;
    }
  }
  [[nodiscard]] std::optional<int64_t> at(int64_t ts) const {
    const auto after = m_from.upper_bound(ts);
    return after == m_from.begin() ? std::nullopt : std::prev(after)->second;
  }

 private:
  std::map<int64_t, std::optional<int64_t>> m_from;  // from that time on
};

using KernelKey = std::pair<int64_t, size_t>;  // stream, name

class Finder {
 public:
  Finder(Trace& trace, const Run& run, const HostEvents& host) : m_trace(trace), m_run(run), m_host(host) {}

  Result<std::vector<LateStart>> find() {
    for (const Rank& rank : m_run.ranks) m_kept.insert(rank.steps.begin(), rank.steps.end());
    for (size_t i = 0; i < m_run.ranks.size(); ++i) {
      if (Status done = addRank(i); !done.ok()) return done.error();
    }
    std::vector<LateStart> result;
    if (m_iterations.empty() || m_last <= m_first) return result;
    m_meanStep = static_cast<double>(m_last - m_first) / static_cast<double>(m_iterations.size());
    const std::optional<KernelKey> kernel = mostVarying();
    if (!kernel) return result;
    for (const Candidate& one : lastOnes()) {
      if (one.kernel != *kernel) continue;
      LateStart& late = result.emplace_back();
      late.rank = m_run.ranks[one.rank].rank;
      late.iteration = one.iteration;
      late.stream = kernel->first;
      late.name = m_run.names[kernel->second];
      late.start = static_cast<double>(one.work->ts - m_first) / m_meanStep;
      late.duration = static_cast<double>(one.work->dur) / m_meanStep;
    }
    mark(result);
    return result;
  }

 private:
  struct Candidate {
    size_t rank;
    int64_t iteration;
    KernelKey kernel;
    const Work* work;
  };

  Status addRank(size_t index) {
    const Rank& rank = m_run.ranks[index];
    auto iterations = loadIterations(m_trace, rank);
    if (!iterations.ok()) return iterations.error();
    const IterationMap steps(iterations.value(), m_kept);
    std::unordered_map<int64_t, int64_t> ofCall;  // by correlation id: the last call's
    const auto note = [&](int64_t iteration, int64_t start, int64_t end) {
      m_iterations.insert(iteration);
      m_first = std::min(m_first, start);
      m_last = std::max(m_last, end);
    };
    const Status read = m_host.forEach(rank, [&](const HostEvent& event) {
      const auto iteration = steps.at(event.ts);
      if (event.call) {
        const int64_t correlation = rank.calls[*event.call].correlation;
        if (iteration) ofCall[correlation] = *iteration;
        if (!iteration) ofCall.erase(correlation);
      }
      if (iteration) note(*iteration, event.ts, event.ts + event.dur);
    });
    if (!read.ok()) return read;
    for (const Work& work : rank.work) {
      const auto call = ofCall.find(work.correlation);
      if (call == ofCall.end() || work.stream <= 0) continue;
      note(call->second, work.ts, work.end());
      const bool isCommunication = m_run.names[work.name].starts_with("ncclKernel");
      if (isCommunication && call->second > 0) {
        m_candidates.push_back({index, call->second, {work.stream, work.name}, &work});
      }
    }
    return Unit{};
  }

  // The last long one of each rank, step and kernel, by rank and step.
  [[nodiscard]] std::vector<Candidate> lastOnes() const {
    constexpr double kLeastShare = 0.01;
    std::map<std::tuple<size_t, int64_t, KernelKey>, Candidate> last;
    for (const Candidate& one : m_candidates) {
      if (static_cast<double>(one.work->dur) < m_meanStep * kLeastShare) continue;
      last.insert_or_assign({one.rank, one.iteration, one.kernel}, one);
    }
    std::vector<Candidate> result;
    for (const auto& [key, one] : last) result.push_back(one);
    return result;
  }

  // By the mean over steps of the deviation between ranks.
  [[nodiscard]] std::optional<KernelKey> mostVarying() const {
    std::map<KernelKey, std::map<int64_t, std::vector<double>>> durations;
    for (const Candidate& one : lastOnes()) {
      durations[one.kernel][one.iteration].push_back(static_cast<double>(one.work->dur) / m_meanStep);
    }
    std::optional<KernelKey> most;
    double largest = -1;
    for (const auto& [kernel, steps] : durations) {
      double sum = 0, count = 0;
      for (const auto& [iteration, values] : steps) {
        if (values.size() < 2) continue;
        sum += *describe(values).std;
        ++count;
      }
      if (count == 0 || sum / count <= largest) continue;
      largest = sum / count;
      most = kernel;
    }
    return most;
  }

  static void mark(std::vector<LateStart>& rows) {
    std::map<int64_t, std::vector<double>> starts;
    for (const LateStart& row : rows) starts[row.iteration].push_back(row.start);
    std::map<std::optional<int64_t>, int64_t> counts;
    for (auto& [iteration, values] : starts) std::ranges::sort(values, std::greater<>());
    for (LateStart& row : rows) {
      const std::vector<double>& values = starts[row.iteration];
      row.isLate = row.start >= values[std::min(values.size(), kStragglers) - 1];
      counts[row.rank] += row.isLate ? 1 : 0;
    }
    std::vector<std::pair<int64_t, std::optional<int64_t>>> ranks;
    for (const auto& [rank, count] : counts) ranks.emplace_back(-count, rank);
    std::ranges::stable_sort(ranks, {}, [](const auto& one) { return one.first; });
    ranks.resize(std::min(ranks.size(), kStragglers));
    for (LateStart& row : rows) {
      row.isStraggler = std::ranges::any_of(ranks, [&](const auto& one) { return one.second == row.rank; });
    }
  }

  Trace& m_trace;
  const Run& m_run;
  const HostEvents& m_host;
  std::set<int64_t> m_kept, m_iterations;
  int64_t m_first = std::numeric_limits<int64_t>::max(), m_last = std::numeric_limits<int64_t>::min();
  double m_meanStep = 0;  // us
  std::vector<Candidate> m_candidates;
};

}  // namespace

Result<std::vector<LateStart>> findStragglers(Trace& trace, const Filter& filter) {
  Filter times = filter;
  times.rank.reset();
  auto run = load(trace, times);
  if (!run.ok()) return run.error();
  auto host = HostEvents::open(trace, run.value());
  if (!host.ok()) return host.error();
  return Finder(trace, run.value(), host.value()).find();
}

}  // namespace plumb::hta
