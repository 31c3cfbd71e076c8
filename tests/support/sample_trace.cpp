// SPDX-License-Identifier: Apache-2.0
// Plays a sharded training run forward in time: a host thread per rank that enqueues, a compute and a communication
// stream per rank that work in order, and collectives that end on all ranks together.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/trace_builder.h"

namespace plumb::test {
namespace {

constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kHash = 0x5eed0000cafe;
constexpr int64_t kMatrix = 512;  // rows of a block's weights
constexpr int64_t kTokens = 1024;
constexpr int64_t kBlockBytes = 12 * kMatrix * kMatrix * 4;  // float32

struct Rank {
  int64_t process, thread, device, compute, communication, communicator;
  int64_t host = 2'000 * kMicrosecond;  // the host thread's clock
  int64_t computeFree = 0, communicationFree = 0;
  int64_t nextExternal = 1;
  int64_t nextAddress = 0x7f0000000000;
  int64_t speedPercent = 100;  // a slower rank arrives later
};

class Run {
 public:
  Run(const std::string& path, const SampleOptions& options) : m_trace(path), m_options(options) {}

  void play() {
    setUp();
    for (int64_t step = 0; step < m_options.steps; ++step) playStep(step);
    finish();
  }

 private:
  void setUp() {
    for (int64_t i = 0; i < m_options.ranks; ++i) {
      Rank rank{};
      rank.host = (2'000 + 40 * i) * kMicrosecond;
      rank.nextExternal = 1;
      rank.nextAddress = 0x7f0000000000;
      rank.speedPercent = 100 + 6 * i;
      rank.process =
          m_trace.addProcess({.rank = i,
                              .worldSize = m_options.ranks,
                              .pid = 4711 + i,
                              .program = "fsdp",
                              .endNs = m_options.complete ? std::optional<int64_t>(10'000'000'000) : std::nullopt});
      rank.thread = m_trace.addThread(rank.process, 4711 + i, "fsdp");
      rank.device = m_trace.addDevice(
          rank.process, {.name = "software device (CPU)", .multiprocessors = 2, .memoryBytes = int64_t{8} << 30});
      rank.compute = m_trace.addStream(rank.process, rank.device, 7, "compute");
      rank.communication = m_trace.addStream(rank.process, rank.device, 13, "communication");
      rank.communicator = m_trace.addCommunicator(rank.process, kHash, m_options.ranks, i, "fsdp");
      for (const auto& [resource, perSecond] : {std::pair{"fp32", 2.2e12}, {"bf16", 9.0e12}, {"memory", 3.0e11}}) {
        m_trace.addRoof(rank.process, 0, resource, perSecond);
      }
      for (const char* lane : {"cupti", "nvtx", "nccl", "memory", "cublas"}) m_trace.addPlugin(rank.process, lane);
      m_ranks.push_back(rank);
    }
    for (Rank& rank : m_ranks) {
      const int64_t begin = rank.host;
      for (int64_t layer = 0; layer < m_options.layers; ++layer) {
        const std::string block = "/block " + std::to_string(layer);
        keep(rank, kBlockBytes / m_options.ranks, "parameter" + block);
        keep(rank, kBlockBytes / m_options.ranks, "gradient" + block);
        keep(rank, 2 * kBlockBytes / m_options.ranks, "optimizer_state" + block);
      }
      keep(rank, 3 << 20, "");  // somebody's scratch, not declared
      m_trace.addAllocation({.process = rank.process,
                             .device = {},
                             .startNs = rank.host,
                             .address = 0x10000,
                             .bytes = 4 << 20,
                             .freedNs = {},
                             .space = "pinned"});
      m_trace.addRange(rank.process, rank.thread, begin, rank.host - begin, "setup");
    }
    m_trace.addDiagnostic({}, "info", "recorder", "software_device", 1,
                          "Recorded on the software device: durations are CPU time.");
  }

  // Memory that stays to the end.
  void keep(Rank& rank, int64_t bytes, const std::string& name) { endLater(rank, bytes, name, {}); }

  void endLater(Rank& rank, int64_t bytes, const std::string& name, std::optional<int64_t> endNs) {
    const int64_t address = rank.nextAddress;
    rank.nextAddress += (bytes + 511) / 512 * 512;
    rank.host += 5 * kMicrosecond;
    m_trace.addAllocation({.process = rank.process,
                           .device = rank.device,
                           .startNs = rank.host,
                           .address = address,
                           .bytes = bytes,
                           .freedNs = endNs,
                           .space = "device"});
    if (!name.empty())
      m_trace.addRegion(rank.process, rank.host + 500, address, bytes, name,
                        endNs ? std::optional(*endNs - 500) : endNs);
  }

  // One kernel on the compute stream; a matrix product is also a library call.
  void kernel(Rank& rank, const std::string& name, int64_t microseconds, int64_t n, int64_t k, double flops = 0,
              double bytes = 0) {
    const int64_t correlation = m_trace.newCorrelation();
    const int64_t begin = rank.host;
    if (n > 0) {
      const int64_t external = rank.nextExternal++;
      m_trace.addLibraryCall({.process = rank.process,
                              .thread = rank.thread,
                              .startNs = begin,
                              .durationNs = 9 * kMicrosecond,
                              .m = kTokens,
                              .n = n,
                              .k = k,
                              .computeType = "bf16",
                              .externalId = external});
      m_trace.addLink(rank.process, external, correlation);
    }
    m_trace.addApiCall(rank.process, rank.thread, begin + 2 * kMicrosecond, 5 * kMicrosecond, "cudaLaunchKernel",
                       correlation);
    rank.host += 10 * kMicrosecond;
    const int64_t start = std::max(rank.host, rank.computeFree);
    const int64_t duration = microseconds * kMicrosecond * rank.speedPercent / 100;
    m_trace.addKernel({.process = rank.process,
                       .device = rank.device,
                       .stream = rank.compute,
                       .startNs = start,
                       .durationNs = duration,
                       .correlation = correlation},
                      name);
    rank.computeFree = start + duration + kMicrosecond;
    if (flops > 0) {
      const int64_t range = m_trace.addRange(rank.process, rank.thread, begin, rank.host - begin, name, 4);
      m_trace.addPayload(range, "flops", static_cast<int64_t>(flops));
      m_trace.addPayload(range, "bytes", static_cast<int64_t>(bytes));
    }
  }

  // A collective of all ranks: each enqueues it, all leave together.
  void collective(const std::string& operation, int64_t bytes, int64_t microseconds, bool afterCompute) {
    const int64_t sequence = m_sequence[operation == "AllGather" ? 0 : 1]++;
    std::vector<int64_t> correlations, starts;
    int64_t last = 0;
    for (Rank& rank : m_ranks) {
      const int64_t correlation = m_trace.newCorrelation(), external = rank.nextExternal++;
      m_trace.addCollective({.process = rank.process,
                             .thread = rank.thread,
                             .communicator = rank.communicator,
                             .startNs = rank.host,
                             .durationNs = 8 * kMicrosecond,
                             .operation = operation,
                             .sequence = sequence,
                             .elementCount = bytes / 4 / m_options.ranks,
                             .bytes = bytes,
                             .datatype = operation == "AllGather" ? "ncclBfloat16" : "ncclFloat32",
                             .externalId = external});
      m_trace.addLink(rank.process, external, correlation);
      m_trace.addApiCall(rank.process, rank.thread, rank.host + 2 * kMicrosecond, 4 * kMicrosecond,
                         "cudaLaunchKernelExC", correlation);
      rank.host += 10 * kMicrosecond;
      const int64_t start = std::max({rank.host, rank.communicationFree, afterCompute ? rank.computeFree : 0});
      correlations.push_back(correlation);
      starts.push_back(start);
      last = std::max(last, start);
    }
    const int64_t end = last + microseconds * kMicrosecond;
    for (size_t i = 0; i < m_ranks.size(); ++i) {
      Rank& rank = m_ranks[i];
      m_trace.addKernel({.process = rank.process,
                         .device = rank.device,
                         .stream = rank.communication,
                         .startNs = starts[i],
                         .durationNs = end - starts[i],
                         .correlation = correlations[i]},
                        "ncclDevKernel_" + operation + "_RING_LL");
      rank.communicationFree = end + kMicrosecond;
    }
  }

  struct Open {
    std::string name;
    int64_t depth;
    std::vector<int64_t> starts;  // by rank
  };
  void push(const std::string& name) {
    Open open{name, static_cast<int64_t>(m_open.size()), {}};
    for (const Rank& rank : m_ranks) open.starts.push_back(rank.host);
    m_open.push_back(open);
  }
  std::vector<int64_t> pop() {
    const Open open = m_open.back();
    m_open.pop_back();
    std::vector<int64_t> ids;
    for (size_t i = 0; i < m_ranks.size(); ++i) {
      m_ranks[i].host += 2 * kMicrosecond;
      ids.push_back(m_trace.addRange(m_ranks[i].process, m_ranks[i].thread, open.starts[i],
                                     m_ranks[i].host - open.starts[i], open.name, open.depth));
    }
    return ids;
  }
  void waitForGathered() {
    for (Rank& rank : m_ranks) rank.computeFree = std::max(rank.computeFree, rank.communicationFree);
  }

  void blockForward(int64_t layer, int64_t activationEnd) {
    push("block " + std::to_string(layer));
    waitForGathered();
    if (layer + 1 < m_options.layers) collective("AllGather", kBlockBytes / 2, 420, false);  // the next block's
    for (Rank& rank : m_ranks) {
      endLater(rank, kTokens * kMatrix * 16, "activation/block " + std::to_string(layer), activationEnd);
      kernel(rank, "rms_norm", 60, 0, 0, 4.0 * kTokens * kMatrix, 8.0 * kTokens * kMatrix);
      kernel(rank, "gemm_bf16_128x128", 260, 3 * kMatrix, kMatrix);
      kernel(rank, "attention", 190, 0, 0, 4.0 * kTokens * kTokens * 64, 8.0 * kTokens * kMatrix);
      kernel(rank, "gemm_bf16_128x64", 300, 4 * kMatrix, kMatrix);
      kernel(rank, "silu", 45, 0, 0, 5.0 * kTokens * kMatrix, 10.0 * kTokens * kMatrix);
    }
    pop();
  }

  void blockBackward(int64_t layer) {
    push("block " + std::to_string(layer));
    waitForGathered();
    if (layer > 0) collective("AllGather", kBlockBytes / 2, 420, false);
    for (Rank& rank : m_ranks) {
      kernel(rank, "silu_backward", 70, 0, 0, 8.0 * kTokens * kMatrix, 16.0 * kTokens * kMatrix);
      kernel(rank, "gemm_bf16_128x64", 310, 4 * kMatrix, kMatrix);
      kernel(rank, "gemm_bf16_64x128", 330, kMatrix, 4 * kMatrix);
      kernel(rank, "attention_backward", 420, 0, 0, 10.0 * kTokens * kTokens * 64, 16.0 * kTokens * kMatrix);
    }
    collective("ReduceScatter", kBlockBytes, 650, true);
    pop();
  }

  void playStep(int64_t step) {
    for (Rank& rank : m_ranks) {  // all ranks start a step when their own work is done
      rank.host = std::max({rank.host, rank.computeFree, rank.communicationFree}) + 150 * kMicrosecond;
    }
    push("step");
    for (Rank& rank : m_ranks) copyBatch(rank);
    const int64_t slack = step == 0 ? 9'000 : 0;  // libraries load, kernels are chosen
    for (Rank& rank : m_ranks) rank.host += slack * kMicrosecond;
    const int64_t perBlock = 1'900 * kMicrosecond;
    push("forward");
    collective("AllGather", kBlockBytes / 2, 420, false);
    for (int64_t layer = 0; layer < m_options.layers; ++layer) {
      const int64_t freed = m_ranks[0].host + (2 * m_options.layers - layer) * perBlock + slack * kMicrosecond / 9;
      blockForward(layer, freed);
    }
    pop();
    push("backward");
    collective("AllGather", kBlockBytes / 2, 420, false);
    for (int64_t layer = m_options.layers; layer-- > 0;) blockBackward(layer);
    pop();
    push("optimizer");
    waitForGathered();
    for (Rank& rank : m_ranks) kernel(rank, "adamw", 380, 0, 0, 14.0 * kBlockBytes / 4, 28.0 * kBlockBytes / 4);
    pop();
    for (Rank& rank : m_ranks) {
      const int64_t correlation = m_trace.newCorrelation();
      const int64_t wait = std::max<int64_t>(rank.computeFree - rank.host, kMicrosecond);
      m_trace.addApiCall(rank.process, rank.thread, rank.host, wait, "cudaDeviceSynchronize", correlation);
      rank.host += wait;
    }
    for (const int64_t id : pop()) m_trace.addPayload(id, "payload", step);
    for (const Rank& rank : m_ranks) {
      m_trace.addCounter(rank.process, rank.host, "loss", 4.0 / static_cast<double>(step + 1));
    }
  }

  void copyBatch(Rank& rank) {
    const int64_t correlation = m_trace.newCorrelation();
    m_trace.addApiCall(rank.process, rank.thread, rank.host, 6 * kMicrosecond, "cudaMemcpyAsync", correlation);
    rank.host += 8 * kMicrosecond;
    const int64_t start = std::max(rank.host, rank.computeFree);
    m_trace.addCopy({.process = rank.process,
                     .device = rank.device,
                     .stream = rank.compute,
                     .startNs = start,
                     .durationNs = 35 * kMicrosecond,
                     .correlation = correlation},
                    kTokens * 8);
    m_trace.addSet({.process = rank.process,
                    .device = rank.device,
                    .stream = rank.compute,
                    .startNs = start + 36 * kMicrosecond,
                    .durationNs = 12 * kMicrosecond},
                   kBlockBytes / m_options.ranks);
    rank.computeFree = start + 50 * kMicrosecond;
  }

  void finish() {
    // The optimizer's only kernel is the only node of a graph.
    m_trace.execute("UPDATE kernel SET graph_id = 1, graph_node_id = 1, flags = flags | 2 WHERE short_name_id = " +
                    std::to_string(m_trace.text("adamw")));
    m_trace.finish(m_options.complete);
  }

  TraceBuilder m_trace;
  SampleOptions m_options;
  std::vector<Rank> m_ranks;
  std::vector<Open> m_open;
  int64_t m_sequence[2] = {0, 0};
};

}  // namespace

void makeSampleTrace(const std::string& path, const SampleOptions& options) { Run(path, options).play(); }

}  // namespace plumb::test
