// SPDX-License-Identifier: Apache-2.0
// One kernel of a communicator: all collectives of a group, then all its sends and receives.
#include <algorithm>
#include <atomic>
#include <ctime>
#include <map>
#include <mutex>

#include "workloads/softcuda/device.h"
#include "workloads/softcuda/nccl/group.h"

namespace softnccl {
namespace {

// The software device moves data with one thread: one channel, reported as one block.
constexpr uint8_t kChannels = 1;
constexpr unsigned kThreads = 512;
constexpr uint8_t kWarps = kThreads / 32;
constexpr size_t kLowLatencyBytes = size_t{64} << 10;  // below this a collective is a single round

struct Plan {
  std::shared_ptr<Communicator> communicator;
  std::vector<Task> tasks;
  uint64_t turn = 0;
  // Handles of the Coll and P2p events, parents of KernelCh. Set by the launching thread after the launch, awaited by
  // the progress thread.
  std::vector<void*> events;
  std::atomic<bool> events_set{false};
  bool kernel_events = false;
  bool captured = false;  // in a graph: each launch of it runs a copy of this plan
};

const char* typeSuffix(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return "u8";
    case ncclInt32:
    case ncclUint32:
      return "u32";
    case ncclInt64:
    case ncclUint64:
      return "u64";
    case ncclFloat16:
      return "f16";
    case ncclFloat32:
      return "f32";
    case ncclFloat64:
      return "f64";
    case ncclBfloat16:
      return "bf16";
    case ncclFloat8e4m3:
      return "f8e4m3";
    case ncclFloat8e5m2:
      return "f8e5m2";
    default:
      return "u8";
  }
}

// NCCL compiles kernels for sums only and has them serve the other operations too.
const char* kernelName(const Task& task) {
  std::string name = "ncclDevKernel_";
  switch (task.function) {
    case Function::kAllGather:
    case Function::kBroadcast:
      name += std::string(functionName(task.function)) + "_RING_LL";
      break;
    case Function::kReduce:
    case Function::kReduceScatter:
    case Function::kAllReduce:
      name += std::string(functionName(task.function)) + "_Sum_" + typeSuffix(task.type) + "_RING_LL";
      break;
    default:
      name += "SendRecv";
      break;
  }
  name += "(ncclDevKernelArgsStorage<4096ul>)";
  // Records keep the pointers: the names are never freed.
  static std::mutex* const mutex = new std::mutex;
  static auto* const names = new std::map<std::string, int>;
  const std::lock_guard lock(*mutex);
  return names->emplace(std::move(name), 0).first->first.c_str();
}

uint64_t deviceTimer() {  // stands for the GPU's global timer
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

bool runCollective(Communicator& communicator, const Task& task) {
  Transfer& transfer = communicator.transfer();
  const size_t bytes = task.count * sizeOf(task.type);
  switch (task.function) {
    case Function::kBroadcast:
      return transfer.broadcast(task.send, task.receive, bytes, task.root);
    case Function::kAllGather:
      return transfer.allGather(task.send, task.receive, bytes);
    case Function::kReduce:
      return transfer.reduce(task.operation, task.type, task.send, task.receive, task.count, task.root);
    case Function::kReduceScatter:
      return transfer.reduceScatter(task.operation, task.type, task.send, task.receive, task.count);
    case Function::kAllReduce:
      return transfer.allReduce(task.operation, task.type, task.send, task.receive, task.count);
    default:
      return true;
  }
}

Message messageOf(const Task& task) {
  const size_t bytes = task.count * sizeOf(task.type);
  if (task.function == Function::kRecv) {
    return {false, task.root, static_cast<std::byte*>(task.receive), bytes};
  }
  return {true, task.root, const_cast<std::byte*>(static_cast<const std::byte*>(task.send)), bytes};
}

bool runTasks(Plan& plan) {
  std::vector<Message> messages;
  for (const Task& task : plan.tasks) {
    if (task.pointToPoint()) {
      messages.push_back(messageOf(task));
    } else if (!runCollective(*plan.communicator, task)) {
      return false;
    }
  }
  return plan.communicator->transfer().exchange(std::move(messages));
}

// KernelCh: start and stop of every channel of every task, told by the progress thread.
void reportKernel(const std::shared_ptr<Plan>& plan, uint64_t start, uint64_t stop) {
  plan->communicator->proxy().post([plan, start, stop] {
    plan->events_set.wait(false);
    const Profiler& profiler = plan->communicator->profiler();
    std::vector<void*> channels;
    for (size_t i = 0; i < plan->tasks.size(); ++i) {
      if ((plan->tasks[i].mask & abi::kKernelCh) == 0) {
        continue;
      }
      abi::v5::Descr descr{};
      descr.type = abi::kKernelCh;
      descr.parentObj = plan->events[i];
      descr.kernelCh = {0, start};
      channels.push_back(profiler.start(descr));
    }
    for (void* const channel : channels) {
      abi::v5::StateArgs args{};
      args.kernelCh.pTimer = stop;
      profiler.record(channel, abi::kKernelChStop, &args);
      profiler.stop(channel);
    }
  });
}

void run(const std::shared_ptr<Plan>& plan) {
  const uint64_t start = deviceTimer();
  const bool done = plan->communicator->begin(plan->turn) && runTasks(*plan);
  if (done && plan->kernel_events) {
    reportKernel(plan, start, deviceTimer());
  }
  plan->communicator->end(plan->turn);
}

abi::v5::Descr describe(const Communicator& communicator, const Task& task, uint64_t sequence, void* group) {
  abi::v5::Descr descr{};
  descr.parentObj = task.api;
  descr.rank = communicator.rank();
  if (task.pointToPoint()) {
    descr.type = abi::kP2p;
    descr.p2p.func = functionName(task.function);
    descr.p2p.buff = task.function == Function::kSend ? const_cast<void*>(task.send) : task.receive;
    descr.p2p.datatype = typeName(task.type);
    descr.p2p.count = task.count;
    descr.p2p.peer = task.root;
    descr.p2p.nChannels = kChannels;
    descr.p2p.parentGroup = group;
    return descr;
  }
  // NCCL moves these two as bytes and says so.
  const bool as_bytes = task.function == Function::kAllGather || task.function == Function::kBroadcast;
  const size_t bytes = task.count * sizeOf(task.type);
  descr.type = abi::kColl;
  descr.coll.seqNumber = sequence;
  descr.coll.func = functionName(task.function);
  descr.coll.sendBuff = task.send;
  descr.coll.recvBuff = task.receive;
  descr.coll.count = as_bytes ? bytes : task.count;
  descr.coll.root = task.root;
  descr.coll.datatype = typeName(as_bytes ? ncclInt8 : task.type);
  descr.coll.nChannels = kChannels;
  descr.coll.nWarps = kWarps;
  descr.coll.algo = "RING";
  descr.coll.proto = bytes <= kLowLatencyBytes ? "LL" : "SIMPLE";
  descr.coll.parentGroup = group;
  return descr;
}

// After the launch, on the launching thread: Group, its Colls and P2ps, and their ends ("enqueued").
void reportTasks(Plan& plan) {
  constexpr int kAnyTask = abi::kProxyOp | abi::kProxyStep | abi::kKernelCh | abi::kNetPlugin;
  Communicator& communicator = *plan.communicator;
  const Profiler& profiler = communicator.profiler();
  int mask = 0;
  for (const Task& task : plan.tasks) {
    mask = mask ? mask : task.mask;
  }
  void* group = nullptr;
  if ((mask & static_cast<int>(kAnyTask | abi::kGroup | abi::kColl | abi::kP2p)) != 0) {
    abi::v5::Descr descr{};
    descr.type = abi::kGroup;
    group = profiler.start(descr);
  }
  plan.events.resize(plan.tasks.size());
  for (size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& task = plan.tasks[i];
    // The sequence counts whether or not anybody listens.
    const uint64_t sequence = task.pointToPoint() ? 0 : communicator.nextSequence(task.function);
    const int own = static_cast<int>(task.pointToPoint() ? abi::kP2p : abi::kColl);
    if ((task.mask & (own | kAnyTask)) != 0) {
      abi::v5::Descr descr = describe(communicator, task, sequence, group);
      plan.events[i] = profiler.start(descr);
    }
  }
  for (void* const event : plan.events) {
    profiler.stop(event);
  }
  profiler.stop(group);
  plan.events_set.store(true);
  plan.events_set.notify_all();
}

// The context of a launch. A graph's plan runs as a copy with events of its own, which are told by the
// stream's thread, as NCCL tells them from a host callback.
void runKernel(void* context) {
  const std::shared_ptr<Plan>& plan = *static_cast<std::shared_ptr<Plan>*>(context);
  if (!plan->captured) {
    run(plan);
    return;
  }
  if (!plan->communicator->ready()) return;  // destroyed before its graph
  const auto launched = std::make_shared<Plan>();
  launched->communicator = plan->communicator;
  launched->tasks = plan->tasks;
  launched->kernel_events = plan->kernel_events;
  launched->turn = Communicator::kNoTurn;
  reportTasks(*launched);
  run(launched);
}
void releaseKernel(void* context) { delete static_cast<std::shared_ptr<Plan>*>(context); }

// Other streams of the group wait for the kernel, and the kernel for what they were given before.
cudaError_t joinStreams(const std::vector<Task>& tasks, cudaStream_t stream, bool before) {
  std::vector<cudaStream_t> seen{stream};
  cudaError_t error = cudaSuccess;
  for (const Task& task : tasks) {
    if (std::find(seen.begin(), seen.end(), task.stream) != seen.end()) {
      continue;
    }
    seen.push_back(task.stream);
    cudaEvent_t event = nullptr;
    if (error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming); error != cudaSuccess) {
      return error;
    }
    if (error = cudaEventRecord(event, before ? task.stream : stream); error == cudaSuccess) {
      error = cudaStreamWaitEvent(before ? stream : task.stream, event, 0);
    }
    cudaEventDestroy(event);
    if (error != cudaSuccess) {
      return error;
    }
  }
  return error;
}

// A communicator of one rank needs no kernel and, as with NCCL, makes no further profiler events: its collectives are
// copies.
ncclResult_t copyAlone(const Communicator&, const std::vector<Task>& tasks) {
  for (const Task& task : tasks) {
    if (task.send != task.receive && task.count != 0 &&
        cudaMemcpyAsync(task.receive, task.send, task.count * sizeOf(task.type), cudaMemcpyDeviceToDevice,
                        task.stream) != cudaSuccess) {
      return ncclUnhandledCudaError;
    }
  }
  return ncclSuccess;
}

ncclResult_t launchKernel(const std::shared_ptr<Plan>& plan, cudaStream_t stream) {
  Communicator& communicator = *plan->communicator;
  const Profiler& profiler = communicator.profiler();
  const Task& first = plan->tasks.front();
  const auto leading = std::find_if(plan->tasks.begin(), plan->tasks.end(), [](const Task& t) { return t.mask != 0; });
  void* event = nullptr;
  if (leading != plan->tasks.end() && (leading->mask & static_cast<int>(abi::kKernelLaunch)) != 0) {
    abi::v5::Descr descr{};
    descr.type = abi::kKernelLaunch;
    descr.parentObj = leading->group_api;
    descr.kernelLaunch.stream = stream;
    event = profiler.start(descr);
  }
  SoftcudaKernelInfo info{};
  info.name = kernelName(first);
  info.grid = dim3(kChannels, 1, 1);
  info.block = dim3(kThreads, 1, 1);
  info.launched_by = SOFTCUDA_LAUNCHED_BY_DRIVER;
  auto* const context = new std::shared_ptr<Plan>(plan);
  const cudaError_t error = softcuda_launch_repeatable(stream, &info, runKernel, context, releaseKernel);
  profiler.stop(event);
  if (error != cudaSuccess) {
    delete context;
    if (!plan->captured) {
      communicator.skip(plan->turn);
    }
    return fail(ncclUnhandledCudaError, "ncclGroupEnd", std::string("launch failed: ") + cudaGetErrorString(error));
  }
  if (!plan->captured) {
    reportTasks(*plan);
  }
  return ncclSuccess;
}

}  // namespace

ncclResult_t launch(const std::shared_ptr<Communicator>& communicator, std::vector<Task> tasks) {
  if (tasks.empty()) {
    return ncclSuccess;
  }
  if (communicator->ranks() == 1 &&
      std::none_of(tasks.begin(), tasks.end(), [](const Task& t) { return t.pointToPoint(); })) {
    return copyAlone(*communicator, tasks);
  }
  std::stable_partition(tasks.begin(), tasks.end(), [](const Task& task) { return !task.pointToPoint(); });
  const cudaStream_t stream = tasks.front().stream;
  const bool captured = softcuda_capturing(stream) != 0;
  const cudaError_t ordered = captured ? cudaSuccess : communicator->orderAfterLast(stream);
  if (ordered != cudaSuccess || joinStreams(tasks, stream, true) != cudaSuccess) {
    return fail(ncclUnhandledCudaError, "ncclGroupEnd", "a stream of the group is not usable");
  }
  const auto plan = std::make_shared<Plan>();
  plan->communicator = communicator;
  plan->tasks = std::move(tasks);
  plan->captured = captured;
  if (!captured) {
    plan->turn = communicator->takeTurn();
  }
  plan->kernel_events = std::any_of(plan->tasks.begin(), plan->tasks.end(), [](const Task& task) {
    return (task.mask & static_cast<int>(abi::kKernelCh)) != 0;
  });
  if (const ncclResult_t result = launchKernel(plan, stream); result != ncclSuccess) {
    return result;
  }
  return joinStreams(plan->tasks, stream, false) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

}  // namespace softnccl
