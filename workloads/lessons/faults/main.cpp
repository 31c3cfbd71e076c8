// SPDX-License-Identifier: Apache-2.0
// Faults of distributed training, made on purpose: who is slow, who is late, who has more to do, who never comes, and
// what many small collectives cost.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "workloads/fsdp/launcher.h"
#include "workloads/lessons/common/lesson.h"
#include "workloads/lessons/common/statistics.h"
#include "workloads/lessons/faults/peers.h"
#include "workloads/nn/device.h"
#include "workloads/nn/gemm.h"
#include "workloads/nn/nvtx.h"
#include "workloads/nn/operations.h"

namespace plumb::lessons {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

struct Options {
  int ranks = 0;  // 0: by the device
  std::string fault = "all";
  int steps = 6;
  int slowdown = 16;
  int delay = 40;      // ms
  int timeout = 3000;  // ms
  int tiny = 256;      // one bucket is 1 MiB
};
Options g_options;

constexpr int kWidth = 256;
constexpr int kRows = 256;
constexpr int kPasses = 3;
constexpr int kLargestShare = 8;  // of the last rank's rows, against the first's
constexpr size_t kTinyCount = 1024;

// What one rank does in one step of an experiment.
struct Duty {
  int passes = kPasses;
  int rows = kRows;
  std::chrono::milliseconds loading{0};
};

// Medians over the steps, ms.
struct Times {
  float loading, compute, collective;
};

class Worker {
 public:
  explicit Worker(Peers& peers)
      : m_peers(peers),
        m_gemm(peers.ledger(), peers.stream()),
        m_weight(buffer(nn::Category::kParameter, "weight", kWidth * kWidth)),
        m_in(buffer(nn::Category::kInput, "batch", kLargestShare * kRows * kWidth)),
        m_out(buffer(nn::Category::kActivation, "out", kLargestShare * kRows * kWidth)),
        m_gradient(buffer(nn::Category::kGradient, "gradient", kWidth * kWidth)) {
    for (cudaEvent_t& event : m_events) nn::check(cudaEventCreate(&event), "creating an event");
    for (const nn::Buffer* one : {&m_weight, &m_in, &m_gradient})
      nn::initialize(m_peers.stream(), *one, 0, 1, 0.1f, 0.0f);
    m_peers.allReduce(m_gradient);
    m_peers.stream().synchronize();
  }
  ~Worker() {
    for (cudaEvent_t event : m_events) cudaEventDestroy(event);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Every rank's medians.
  std::vector<Times> run(const char* name, const Duty& duty) {
    const nn::Range range(name);
    std::vector<double> loading, compute, collective;
    for (int i = 0; i < g_options.steps; ++i) {
      const nn::Range step("step", static_cast<uint64_t>(i));
      loading.push_back(load(duty));
      record(0);
      computeOn(duty);
      record(1);
      {
        const nn::Range gradients("gradients");
        m_peers.allReduce(m_gradient);
      }
      record(2);
      m_peers.watch();
      compute.push_back(elapsed(0, 1));
      collective.push_back(elapsed(1, 2));
    }
    const auto middle = [](const std::vector<double>& samples) { return static_cast<float>(median(samples)); };
    const std::vector<float> all = m_peers.gather({middle(loading), middle(compute), middle(collective)});
    std::vector<Times> times;
    for (size_t i = 0; i < all.size(); i += 3) times.push_back({all[i], all[i + 1], all[i + 2]});
    return times;
  }

  // ms of summing the same bytes in pieces, the median.
  double sumInPieces(const char* name, int pieces) {
    const size_t count = kTinyCount * static_cast<size_t>(g_options.tiny) / static_cast<size_t>(pieces);
    const nn::Buffer values = buffer(nn::Category::kGradient, name, count);
    std::vector<double> samples;
    for (int i = 0; i <= g_options.steps; ++i) {
      const nn::Range range(i == 0 ? "warm-up" : name);
      const nn::Range gradients("gradients");  // no step: nothing is trained
      const auto start = std::chrono::steady_clock::now();
      for (int piece = 0; piece < pieces; ++piece) m_peers.allReduce(values);
      m_peers.watch();
      if (i > 0) samples.push_back(Milliseconds(std::chrono::steady_clock::now() - start).count());
    }
    return median(samples);
  }

  // The last rank stays away from the all-reduce after the third.
  void goMissing() {
    const nn::Range range("missing rank");
    for (int i = 0; i < g_options.steps; ++i) {
      const nn::Range step("step", static_cast<uint64_t>(i));
      computeOn({});
      if (i == 3 && m_peers.rank() == m_peers.ranks() - 1) stayAway();
      m_peers.allReduce(m_gradient);
      m_peers.watch();
    }
  }

 private:
  nn::Buffer buffer(nn::Category category, const char* name, size_t count) {
    return {m_peers.ledger(), m_peers.stream(), category, name, nn::Dtype::kFloat32, count};
  }
  double load(const Duty& duty) const {
    const nn::Range range("dataloader");
    const auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(duty.loading);
    return Milliseconds(std::chrono::steady_clock::now() - start).count();
  }
  void computeOn(const Duty& duty) {
    const nn::Range range("compute");
    for (int pass = 0; pass < duty.passes; ++pass)
      m_gemm.multiply(duty.rows, kWidth, kWidth, {m_in, kWidth}, {m_weight, kWidth}, {m_out, kWidth});
  }
  [[noreturn]] void stayAway() {
    const nn::Range range("stuck");
    m_peers.stream().synchronize();
    const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(10 * g_options.timeout);
    while (!m_peers.board().givenUp() && std::chrono::steady_clock::now() < patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    throw nn::DeviceError(fmt::format("rank {}: was stuck, as asked for, before its collective", m_peers.rank()));
  }
  void record(size_t which) { nn::check(cudaEventRecord(m_events[which], m_peers.stream()), "recording an event"); }
  double elapsed(size_t from, size_t to) const {
    float milliseconds = 0.0f;
    nn::check(cudaEventElapsedTime(&milliseconds, m_events[from], m_events[to]), "reading the events");
    return milliseconds;
  }

  Peers& m_peers;
  nn::Gemm m_gemm;
  nn::Buffer m_weight, m_in, m_out, m_gradient;
  cudaEvent_t m_events[3] = {};
};

bool wanted(const char* fault) { return g_options.fault == fault || g_options.fault == "all"; }

// A claim about times that all ranks measure together: every rank knows all numbers, so all decide alike.
class CommonClaim {
 public:
  explicit CommonClaim(Peers& peers) : m_peers(peers) {}

  // measure(again): the numbers, the same on every rank; holds(numbers).
  template <class Numbers, class Holds>
  Numbers measure(const std::function<Numbers(bool again)>& measureOnce, const Holds& holds) {
    Numbers numbers = measureOnce(false);
    for (int attempt = 1; attempt < Checks::kAttempts && !holds(numbers); ++attempt) numbers = measureOnce(true);
    if (!holds(numbers)) {
      for (const float seconds : m_peers.gather({static_cast<float>(nn::ownCpuSeconds() - m_ownStart)}))
        m_peersCpuSeconds += static_cast<double>(seconds);
      m_peersCpuSeconds -= nn::ownCpuSeconds() - m_ownStart;
    }
    return numbers;
  }
  void judge(Checks& checks, std::string claim, const TimeClaim& outcome) const {
    checks.judgeTimes(std::move(claim), outcome, m_since, std::max(m_peersCpuSeconds, 1e-9));
  }

 private:
  Peers& m_peers;
  nn::HostLoadMeter m_since;
  double m_ownStart = nn::ownCpuSeconds();
  double m_peersCpuSeconds = 0.0;
};

bool lastWaitsLeast(const std::vector<Times>& times) {
  const auto least = std::min_element(times.begin(), times.end(),
                                      [](const Times& a, const Times& b) { return a.collective < b.collective; });
  return least == times.end() - 1;
}

void show(const char* title, const char* explanation, const std::vector<Times>& times) {
  fmt::print("\n{}: {}\n", title, explanation);
  Table table({"rank", "loading ms", "compute ms", "all-reduce ms", "arrives after the first by ms"});
  std::vector<float> arrivals;
  for (const Times& t : times) arrivals.push_back(t.loading + t.compute);
  const float first = *std::min_element(arrivals.begin(), arrivals.end());
  for (size_t rank = 0; rank < times.size(); ++rank)
    table.add({std::to_string(rank), fmt::format("{:.2f}", times[rank].loading),
               fmt::format("{:.2f}", times[rank].compute), fmt::format("{:.2f}", times[rank].collective),
               fmt::format("{:.2f}", arrivals[rank] - first)});
  table.print();
}

void experiment(Peers& peers, Worker& worker, const char* name, const char* explanation, const Duty& duty,
                Checks& checks) {
  CommonClaim claim(peers);
  const std::string again = std::string("again: ") + name;
  const auto times = claim.measure<std::vector<Times>>(
      [&](bool repeated) { return worker.run(repeated ? again.c_str() : name, duty); }, lastWaitsLeast);
  if (peers.rank() != 0) return;
  show(name, explanation, times);
  claim.judge(checks, fmt::format("{}: the last rank, the culprit, waits least", name),
              {lastWaitsLeast(times), fmt::format("{:.2f} ms in the all-reduce, rank 0 {:.2f} ms",
                                                  times.back().collective, times.front().collective)});
}

// ms, of rank 0.
struct PiecesTimes {
  double tiny, bucket;
};

void pieces(Peers& peers, Worker& worker, Checks& checks) {
  CommonClaim claim(peers);
  const auto tinyCostsMore = [](const PiecesTimes& times) { return times.tiny > 1.5 * times.bucket; };
  const auto [tiny, bucket] = claim.measure<PiecesTimes>(
      [&](bool again) {
        const double ofPieces =
            worker.sumInPieces(again ? "again: tiny collectives" : "tiny collectives", g_options.tiny);
        const double ofBucket = worker.sumInPieces(again ? "again: one bucket" : "one bucket", 1);
        const std::vector<float> all = peers.gather({static_cast<float>(ofPieces), static_cast<float>(ofBucket)});
        return PiecesTimes{static_cast<double>(all[0]), static_cast<double>(all[1])};
      },
      tinyCostsMore);
  if (peers.rank() != 0) return;
  fmt::print("\ntiny collectives: {} floats summed over the ranks\n", kTinyCount * static_cast<size_t>(g_options.tiny));
  Table table({"way", "ms"});
  table.add({fmt::format("{} all-reduces of {} floats", g_options.tiny, kTinyCount), fmt::format("{:.2f}", tiny)});
  table.add({"one all-reduce, the bucket", fmt::format("{:.2f}", bucket)});
  table.print();
  claim.judge(checks, "many tiny collectives cost more than one bucket",
              {tinyCostsMore({tiny, bucket}), fmt::format("{:.2f} against {:.2f} ms", tiny, bucket)});
}

void teach(Checks& checks) {
  const fsdp::RankEnvironment environment = fsdp::RankEnvironment::read();
  if (environment.worldSize < 2) throw nn::UsageError("the faults need at least 2 ranks");
  nn::useDevice(environment.localRank);
  Peers peers(environment, std::chrono::milliseconds(g_options.timeout));
  Worker worker(peers);
  const bool speaks = peers.rank() == 0, culprit = peers.rank() == peers.ranks() - 1;
  if (speaks)
    fmt::print("{} ranks, {} steps; the last rank is the culprit; medians over the steps\n", peers.ranks(),
               g_options.steps);
  const auto show = [&](const char* fault, const char* name, const char* explanation, const Duty& duty) {
    if (wanted(fault)) experiment(peers, worker, name, explanation, duty, checks);
  };
  Duty slow, late, skewed;
  if (culprit) {
    slow.passes *= g_options.slowdown;
    late.loading = std::chrono::milliseconds(g_options.delay);
  }
  skewed.rows += (kLargestShare - 1) * kRows * peers.rank() / (peers.ranks() - 1);
  skewed.passes *= 4;
  show("slow-rank", "slow rank", "it computes longer, the others wait in the all-reduce", slow);
  show("late-rank", "late rank", "its data loader is late, its device idles first", late);
  show("skewed-inputs", "skewed inputs", "ranks have 1 to 8 times the rows", skewed);
  if (wanted("tiny-collectives")) pieces(peers, worker, checks);
  if (g_options.fault == "missing-rank") worker.goMissing();
}

// Starts the ranks, unless this process is one of them.
std::optional<int> begin(const nn::DeviceChoice& choice, std::vector<std::string> arguments) {
  if (fsdp::RankEnvironment::present()) return std::nullopt;
  const int ranks = g_options.ranks > 0 ? g_options.ranks : 2;
  if (choice.gpu && ranks > choice.gpuCount)
    throw nn::UsageError(
        fmt::format("{} ranks need as many GPUs, this machine has {}: use --device software", ranks, choice.gpuCount));
  ProgressBoard::create();
  arguments.insert(arguments.end(), {"--device", choice.gpu ? "gpu" : "software"});
  return fsdp::runRanks(choice.program, arguments, ranks);
}

void addOptions(OptionList& options) {
  options.choice("--fault", g_options.fault,
                 {"all", "slow-rank", "late-rank", "skewed-inputs", "tiny-collectives", "missing-rank"},
                 "all but missing-rank, or one of them; missing-rank ends with exit code 1");
  options.integerByDevice("--ranks", g_options.ranks, 2, 64, "processes (default: 2)");
  options.integer("--steps", g_options.steps, 4, 10000, "steps of each experiment");
  options.integer("--slowdown", g_options.slowdown, 2, 1000, "how many times longer the slow rank computes");
  options.integer("--delay", g_options.delay, 1, 10000, "of the late rank's data loader, ms");
  options.integer("--tiny", g_options.tiny, 2, 100000, "number of tiny collectives");
  options.integer("--timeout", g_options.timeout, 100, 600000, "of the watchdog, ms");
}

}  // namespace
}  // namespace plumb::lessons

int main(int argc, char** argv) {
  using namespace plumb::lessons;
  return runLesson(argc, argv,
                   {"faults",
                    "Faults of distributed training: a slow rank, a late one, skewed inputs, tiny collectives, and a "
                    "rank that never comes.",
                    addOptions, teach, begin});
}
