// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/kernels/engine.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/softcuda/kernels/fiber.h"

thread_local constinit uint3 threadIdx{};
thread_local constinit uint3 blockIdx{};
thread_local constinit dim3 blockDim{};
thread_local constinit dim3 gridDim{};

namespace softcuda {

thread_local constinit unsigned char* t_dynamicShared = nullptr;
thread_local constinit uint32_t t_nextThread = 0;
thread_local constinit uint32_t t_threadCount = 0;
thread_local constinit uint32_t t_currentThread = 0;
thread_local constinit bool t_started = false;
thread_local constinit bool t_hasWaited = false;

namespace {

struct Lane {
  uint32_t mask;
  WarpOperation operation;
  int source;
  uint64_t value;
  uint64_t result;
  Fiber* fiber;
};

struct Warp {
  uint32_t live = 0;     // lanes that have not returned
  uint32_t waiting = 0;  // lanes in a warp operation
  Lane lanes[32];
};

void fiberEntry();

// The state of the blocks that one CPU thread runs.
class Engine {
 public:
  Engine() : m_pool(&fiberEntry) {}
  ~Engine() { std::free(m_shared); }

  cudaError_t run(ThreadLoop loop, const SoftcudaGrid& grid, uint64_t firstBlock, uint64_t blockCount,
                  void** arguments);
  void runLoop() { m_loop(m_arguments); }
  bool next();
  int barrier(BlockOperation operation, bool predicate);
  void gridBarrier();
  bool isCooperative() const { return m_gridBarrier != nullptr; }
  uint64_t warpOperation(WarpOperation operation, uint32_t mask, uint64_t value, int source);
  uint32_t liveLanes();
  void retire();
  [[noreturn]] void abort(cudaError_t error);

 private:
  void beginBlock(uint64_t index);
  void startThread(uint32_t thread);
  void endThread();
  void firstWait();
  void suspend();
  Fiber* pickNext();
  void completeBarrier();
  void releaseBlock();
  void releaseWarpIfComplete(Warp& warp, uint32_t mask);
  static void resolve(Warp& warp, uint32_t group, WarpOperation operation);
  bool reserveShared(std::size_t bytes);

  FiberPool m_pool;
  Fiber m_main;
  Fiber* m_current = nullptr;
  ThreadLoop m_loop = nullptr;
  void** m_arguments = nullptr;
  SoftcudaGridBarrier* m_gridBarrier = nullptr;
  uint64_t m_nextBlock = 0;
  uint64_t m_endBlock = 0;
  cudaError_t m_error = cudaSuccess;
  unsigned char* m_shared = nullptr;
  std::size_t m_sharedBytes = 0;

  // Meaningful once a thread of the block has waited.
  std::vector<Fiber*> m_ready;  // [m_readyHead …): first in, first out
  std::size_t m_readyHead = 0;
  std::vector<Warp> m_warps;
  std::vector<Fiber*> m_atBarrier;
  uint32_t m_live = 0;
  uint32_t m_barrierCount = 0;   // predicates so far
  uint32_t m_barrierResult = 0;  // of the last completed barrier
  uint32_t m_barrierThreads = 0;
  bool m_waitsForGrid = false;  // the barrier that the block's threads are coming to is the grid's
};

Engine& engine() {
  static thread_local Engine instance;
  return instance;
}

void fiberEntry() {
  fiberStarted();
  Engine& e = engine();
  for (;;) {
    t_started = false;
    e.runLoop();
    e.retire();
  }
}

cudaError_t Engine::run(ThreadLoop loop, const SoftcudaGrid& grid, uint64_t firstBlock, uint64_t blockCount,
                        void** arguments) {
  if (!reserveShared(grid.dynamic_shared_bytes)) return cudaErrorMemoryAllocation;
  m_loop = loop;
  m_arguments = arguments;
  m_gridBarrier = grid.barrier;
  m_nextBlock = firstBlock;
  m_endBlock = firstBlock + blockCount;
  m_error = cudaSuccess;
  blockDim = grid.block;
  gridDim = grid.grid;
  t_dynamicShared = m_shared;
  t_threadCount = grid.block.x * grid.block.y * grid.block.z;
  t_nextThread = t_threadCount;
  t_hasWaited = false;
  t_started = false;
  m_current = m_pool.take();
  if (!m_current) return cudaErrorMemoryAllocation;
  switchFiber(m_main, *m_current);
  if (m_error != cudaSuccess) {
    m_pool.resetAll();  // threads were left in the middle of their work
    t_hasWaited = false;
  }
  return m_error;
}

bool Engine::reserveShared(std::size_t bytes) {
  if (bytes <= m_sharedBytes) return true;
  std::free(m_shared);
  m_sharedBytes = (bytes + 4095) & ~std::size_t{4095};
  m_shared = static_cast<unsigned char*>(std::aligned_alloc(128, m_sharedBytes));
  if (!m_shared) m_sharedBytes = 0;
  return m_shared != nullptr;
}

void Engine::beginBlock(uint64_t index) {
  blockIdx.x = static_cast<unsigned>(index % gridDim.x);
  blockIdx.y = static_cast<unsigned>(index / gridDim.x % gridDim.y);
  blockIdx.z = static_cast<unsigned>(index / gridDim.x / gridDim.y);
  t_nextThread = 0;
  t_hasWaited = false;
}

void Engine::startThread(uint32_t thread) {
  t_currentThread = thread;
  threadIdx.x = thread % blockDim.x;
  threadIdx.y = thread / blockDim.x % blockDim.y;
  threadIdx.z = thread / blockDim.x / blockDim.y;
  t_nextThread = thread + 1;
  t_started = true;
}

bool Engine::next() {
  if (t_started) {
    t_started = false;
    if (t_hasWaited) endThread();
  }
  if (t_nextThread == t_threadCount) {
    if (t_hasWaited && m_live > 0) return false;  // the rest of the block waits on other fibers
    if (m_nextBlock == m_endBlock) return false;
    beginBlock(m_nextBlock++);
  }
  startThread(t_nextThread);
  return true;
}

// Until here the threads ran to their ends one after the other: those before the current one are gone.
void Engine::firstWait() {
  t_hasWaited = true;
  m_live = t_threadCount - t_currentThread;
  const uint32_t warps = (t_threadCount + 31) / 32;
  if (m_warps.size() < warps) m_warps.resize(warps);
  for (uint32_t w = 0; w < warps; ++w) {
    const uint32_t first = w * 32;
    uint32_t live = t_threadCount - first >= 32 ? 0xffffffffu : (1u << (t_threadCount - first)) - 1;
    if (t_currentThread >= first + 32) {
      live = 0;
    } else if (t_currentThread > first) {
      live &= ~((1u << (t_currentThread - first)) - 1);
    }
    m_warps[w].live = live;
    m_warps[w].waiting = 0;
  }
  m_ready.clear();
  m_readyHead = 0;
  m_atBarrier.clear();
  m_barrierCount = 0;
  m_waitsForGrid = false;
}

void Engine::endThread() {
  Warp& warp = m_warps[t_currentThread / 32];
  warp.live &= ~(1u << (t_currentThread & 31u));
  --m_live;
  if (!m_atBarrier.empty() && m_atBarrier.size() == m_live) completeBarrier();
  if (warp.waiting != 0) {
    for (uint32_t rest = warp.waiting; rest != 0;) {
      const uint32_t mask = warp.lanes[__builtin_ctz(rest)].mask;
      releaseWarpIfComplete(warp, mask);
      rest &= ~mask;
    }
  }
}

Fiber* Engine::pickNext() {
  if (m_readyHead < m_ready.size()) {
    Fiber* fiber = m_ready[m_readyHead++];
    if (m_readyHead == m_ready.size()) {
      m_ready.clear();
      m_readyHead = 0;
    }
    return fiber;
  }
  if (t_nextThread < t_threadCount) {
    Fiber* fiber = m_pool.take();
    if (!fiber) abort(cudaErrorMemoryAllocation);
    return fiber;
  }
  return nullptr;
}

void Engine::suspend() {
  Fiber& self = *m_current;
  self.threadIndex = threadIdx;
  self.thread = t_currentThread;
  Fiber* next = pickNext();
  if (!next) {
    std::fprintf(stderr,
                 "softcuda: a kernel deadlocked: not all threads of block (%u,%u,%u) reached the same barrier\n",
                 blockIdx.x, blockIdx.y, blockIdx.z);
    abort(cudaErrorLaunchFailure);
  }
  m_current = next;
  switchFiber(self, *next);
  m_current = &self;
  threadIdx = self.threadIndex;
  t_currentThread = self.thread;
  t_started = true;
}

// Called by a fiber whose loop has nothing to start.
void Engine::retire() {
  Fiber& self = *m_current;
  m_pool.giveBack(&self);
  const bool allDone = !t_hasWaited || m_live == 0;
  if (allDone) {
    switchFiber(self, m_main);
  } else {
    Fiber* next = pickNext();
    if (!next) {
      std::fprintf(stderr,
                   "softcuda: a kernel deadlocked: threads of block (%u,%u,%u) wait for threads that have returned\n",
                   blockIdx.x, blockIdx.y, blockIdx.z);
      abort(cudaErrorLaunchFailure);
    }
    m_current = next;
    switchFiber(self, *next);
  }
  m_current = &self;  // taken from the pool again
}

void Engine::abort(cudaError_t error) {
  m_error = error;
  switchFiber(*m_current, m_main);
  __builtin_unreachable();
}

int Engine::barrier(BlockOperation operation, bool predicate) {
  if (!t_hasWaited) firstWait();
  m_barrierCount += predicate ? 1 : 0;
  m_atBarrier.push_back(m_current);
  if (m_atBarrier.size() == m_live) {
    m_atBarrier.pop_back();  // the last one goes on at once
    completeBarrier();
  } else {
    suspend();
  }
  switch (operation) {
    case BlockOperation::kAnd:
      return m_barrierResult == m_barrierThreads;
    case BlockOperation::kOr:
      return m_barrierResult != 0;
    default:
      return static_cast<int>(m_barrierResult);
  }
}

void Engine::gridBarrier() {
  if (!m_gridBarrier) {
    std::fprintf(stderr,
                 "softcuda: a kernel waits for its grid, but was not launched by cudaLaunchCooperativeKernel\n");
    abort(cudaErrorLaunchFailure);
  }
  if (!t_hasWaited) firstWait();
  m_waitsForGrid = true;
  barrier(BlockOperation::kBarrier, false);
}

// All live threads of the block are there; for a barrier of the grid, all other blocks must be too.
void Engine::completeBarrier() {
  if (std::exchange(m_waitsForGrid, false) && m_gridBarrier->wait(m_gridBarrier) == 0) abort(cudaErrorLaunchFailure);
  releaseBlock();
}

void Engine::releaseBlock() {
  m_barrierResult = m_barrierCount;
  m_barrierThreads = m_live;
  m_barrierCount = 0;
  m_ready.insert(m_ready.end(), m_atBarrier.begin(), m_atBarrier.end());
  m_atBarrier.clear();
}

uint64_t Engine::warpOperation(WarpOperation operation, uint32_t mask, uint64_t value, int source) {
  if (!t_hasWaited) firstWait();
  Warp& warp = m_warps[t_currentThread / 32];
  const uint32_t self = 1u << (t_currentThread & 31u);
  Lane& lane = warp.lanes[t_currentThread & 31u];
  lane = {mask | self, operation, source, value, 0, nullptr};
  warp.waiting |= self;
  releaseWarpIfComplete(warp, lane.mask);
  if (warp.waiting & self) {
    lane.fiber = m_current;
    suspend();
  }
  return lane.result;
}

void Engine::releaseWarpIfComplete(Warp& warp, uint32_t mask) {
  const uint32_t group = mask & warp.live;
  if (group == 0 || (group & ~warp.waiting) != 0) return;
  for (uint32_t rest = group; rest != 0; rest &= rest - 1) {
    if (warp.lanes[__builtin_ctz(rest)].mask != mask) return;
  }
  resolve(warp, group, warp.lanes[__builtin_ctz(group)].operation);
  warp.waiting &= ~group;
  for (uint32_t rest = group; rest != 0; rest &= rest - 1) {
    Lane& lane = warp.lanes[__builtin_ctz(rest)];
    if (lane.fiber) m_ready.push_back(lane.fiber);
  }
}

// The last lane to arrive computes every lane's result, so nobody has to wait a second time.
void Engine::resolve(Warp& warp, uint32_t group, WarpOperation operation) {
  const auto each = [&](auto&& visit) {
    for (uint32_t rest = group; rest != 0; rest &= rest - 1) visit(__builtin_ctz(rest));
  };
  if (operation == WarpOperation::kBarrier) return;
  if (operation == WarpOperation::kShuffle) {
    each([&](int i) { warp.lanes[i].result = warp.lanes[warp.lanes[i].source & 31].value; });
    return;
  }
  if (operation == WarpOperation::kMatchAny) {
    each([&](int i) {
      uint64_t same = 0;
      each([&](int j) { same |= uint64_t{warp.lanes[j].value == warp.lanes[i].value} << j; });
      warp.lanes[i].result = same;
    });
    return;
  }
  uint64_t result = 0;
  bool first = true;
  each([&](int i) {
    const uint64_t value = warp.lanes[i].value;
    const auto signedValue = static_cast<int64_t>(value);
    if (operation == WarpOperation::kBallot) {
      result |= uint64_t{value != 0} << i;
    } else if (first) {
      result = value;
    } else if (operation == WarpOperation::kAdd) {
      result += value;
    } else if (operation == WarpOperation::kAnd) {
      result &= value;
    } else if (operation == WarpOperation::kOr) {
      result |= value;
    } else if (operation == WarpOperation::kXor) {
      result ^= value;
    } else {
      const bool isSigned = operation == WarpOperation::kMinSigned || operation == WarpOperation::kMaxSigned;
      const bool wantsLess = operation == WarpOperation::kMinSigned || operation == WarpOperation::kMinUnsigned;
      const bool less = isSigned ? signedValue < static_cast<int64_t>(result) : value < result;
      if (less == wantsLess) result = value;
    }
    first = false;
  });
  each([&](int i) { warp.lanes[i].result = result; });
}

uint32_t Engine::liveLanes() {
  if (t_hasWaited) return m_warps[t_currentThread / 32].live;
  const uint32_t first = t_currentThread & ~31u;
  const uint32_t all = t_threadCount - first >= 32 ? 0xffffffffu : (1u << (t_threadCount - first)) - 1;
  return all & ~((1u << (t_currentThread & 31u)) - 1);
}

}  // namespace

cudaError_t runBlocks(ThreadLoop loop, const SoftcudaGrid& grid, uint64_t firstBlock, uint64_t blockCount,
                      void** arguments) {
  return engine().run(loop, grid, firstBlock, blockCount, arguments);
}

bool nextThreadSlow() { return engine().next(); }
bool isCooperative() { return engine().isCooperative(); }
void gridBarrier() { engine().gridBarrier(); }
int blockBarrier(BlockOperation operation, bool predicate) { return engine().barrier(operation, predicate); }
uint64_t warpOperation(WarpOperation operation, uint32_t mask, uint64_t value, int sourceLane) {
  return engine().warpOperation(operation, mask, value, sourceLane);
}
uint32_t liveLanes() { return engine().liveLanes(); }
void abortLaunch(cudaError_t error) { engine().abort(error); }

void registerKernel(SoftcudaKernel& kernel, const char* sourceText) {
  Dl_info info{};
  // The symbol's name is the mangled one, which nvcc registers too. Programs link with -rdynamic so that it is found.
  const bool found =
      dladdr(kernel.host_function, &info) != 0 && info.dli_sname && info.dli_saddr == kernel.host_function;
  kernel.name = found ? info.dli_sname : sourceText;
  softcuda_register_kernel(&kernel);
}

// The mangled name of a variable: the bare name, or for a::b::c "_ZN1a1b1cE".
static std::string mangled(std::string_view name) {
  if (name.substr(0, 2) == "::") name.remove_prefix(2);
  if (name.find("::") == std::string_view::npos) return std::string(name);
  std::string result = "_ZN";
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find("::"));
    result += std::to_string(part.size());
    result += part;
    name.remove_prefix(std::min(name.size(), part.size() + 2));
  }
  return result + "E";
}

bool registerVariable(const char* sourceText, void* address, std::size_t bytes) {
  softcuda_register_variable(mangled(sourceText).c_str(), address, bytes);
  return true;
}

}  // namespace softcuda
