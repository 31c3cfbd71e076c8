// SPDX-License-Identifier: Apache-2.0
// Kernel launches: by the runtime API, by nvcc's host stubs, and by the sibling libraries.
#include <cupti_driver_cbid.h>

#include <cstring>
#include <memory>
#include <vector>

#include "workloads/softcuda/cudart/api_call.h"
#include "workloads/softcuda/cudart/block_pool.h"
#include "workloads/softcuda/cudart/kernel_registry.h"
#include "workloads/softcuda/cudart/stream.h"
#include "workloads/softcuda/cudart/variable_registry.h"
#include "workloads/softcuda/cudart/work.h"
#include "workloads/softcuda/device.h"

namespace softcuda {
namespace {

constexpr uint32_t kMaxThreadsPerBlock = 1024;
constexpr uint32_t kMaxArguments = 64;
constexpr int kMaxSharedBytes = 227 * 1024;

// A launch's arguments, copied at the launch as the driver does. The common case stays within the queue's node.
class Arguments {
 public:
  Arguments(const SoftcudaKernel& kernel, void** arguments) : m_kernel(&kernel) {
    std::size_t total = 0;
    for (uint32_t i = 0; i < kernel.argument_count; ++i) total += padded(kernel.argument_sizes[i]);
    if (total > sizeof(m_inline)) m_large = std::make_unique<std::byte[]>(total);
    std::byte* to = data();
    for (uint32_t i = 0; i < kernel.argument_count; ++i) {
      std::memcpy(to, arguments[i], kernel.argument_sizes[i]);
      to += padded(kernel.argument_sizes[i]);
    }
  }
  Arguments(Arguments&& other) noexcept : m_kernel(other.m_kernel), m_large(std::move(other.m_large)) {
    if (!m_large) std::memcpy(m_inline, other.m_inline, sizeof(m_inline));
  }
  const SoftcudaKernel& kernel() const { return *m_kernel; }
  void pointers(void** out) {
    std::byte* from = data();
    for (uint32_t i = 0; i < m_kernel->argument_count; ++i) {
      out[i] = from;
      from += padded(m_kernel->argument_sizes[i]);
    }
  }

 private:
  static std::size_t padded(std::size_t bytes) { return (bytes + 15) & ~std::size_t{15}; }
  std::byte* data() { return m_large ? m_large.get() : m_inline; }

  const SoftcudaKernel* m_kernel;
  std::unique_ptr<std::byte[]> m_large;
  alignas(16) std::byte m_inline[256];
};

// What a kernel's record needs, kept small for the queue's node.
struct LaunchRecord {
  uint32_t correlation;
  uint64_t queuedNs;
  const char* name;
  SoftcudaGrid grid;
  uint32_t staticSharedBytes = 0;
  uint32_t registers = 0;
  bool cooperative = false;

  void report(const Stream& stream, uint64_t start, uint64_t end) const {
    SoftcudaEvent event{};
    event.kind = SOFTCUDA_EVENT_KERNEL;
    event.correlation = correlation;
    event.stream = stream.id();
    event.queued_ns = queuedNs;
    event.start_ns = start;
    event.end_ns = end;
    event.kernel.name = name;
    const uint32_t gridSize[3] = {grid.grid.x, grid.grid.y, grid.grid.z};
    const uint32_t blockSize[3] = {grid.block.x, grid.block.y, grid.block.z};
    std::memcpy(event.kernel.grid, gridSize, sizeof(gridSize));
    std::memcpy(event.kernel.block, blockSize, sizeof(blockSize));
    event.kernel.static_shared_bytes = staticSharedBytes;
    event.kernel.dynamic_shared_bytes = grid.dynamic_shared_bytes;
    event.kernel.registers_per_thread = registers;
    event.kernel.cooperative = cooperative ? 1 : 0;
    emit(event);
  }
};

template <class Run>
void runAndReport(const LaunchRecord& record, const Stream& stream, Run&& run) {
  if (stickyError() != cudaSuccess) return;
  const bool report = observed();
  const uint64_t start = report ? softcuda_now() : 0;
  run();
  if (report) record.report(stream, start, softcuda_now());
}

bool validGeometry(const dim3& grid, const dim3& block) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  return grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 0x7fffffffu && grid.y <= 65535 && grid.z <= 65535 &&
         block.x > 0 && block.y > 0 && block.z > 0 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
         threads <= kMaxThreadsPerBlock;
}

// A core runs one block at a time.
int blocksPerMultiprocessor(int blockSize) { return blockSize <= static_cast<int>(kMaxThreadsPerBlock) ? 1 : 0; }

cudaError_t launch(ApiCall& call, RegisteredKernel* kernel, dim3 grid, dim3 block, void** arguments,
                   std::size_t sharedBytes, cudaStream_t handle, bool cooperative = false) {
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  if (!validGeometry(grid, block)) return cudaErrorInvalidConfiguration;
  if (sharedBytes > static_cast<std::size_t>(kernel->maxDynamicSharedBytes)) return cudaErrorInvalidValue;
  if (cooperative && uint64_t{grid.x} * grid.y * grid.z > static_cast<uint64_t>(softcuda_threads()))
    return cudaErrorCooperativeLaunchTooLarge;
  const SoftcudaKernel* code = kernelCode(*kernel);
  if (!code) return cudaErrorInvalidDeviceFunction;
  if (code->argument_count > kMaxArguments || (code->argument_count > 0 && !arguments)) return cudaErrorInvalidValue;
  const StreamRef stream = findStream(handle);
  if (const cudaError_t error = refuseWork(stream)) return error;
  LaunchRecord record{
      call.correlation(), call.startNs(), kernel->name.c_str(), {grid, block, static_cast<uint32_t>(sharedBytes)}};
  record.cooperative = cooperative;
  submit(*stream, cudaGraphNodeTypeKernel, [record, packed = Arguments(*code, arguments)](Stream& self) mutable {
    runAndReport(record, self, [&] {
      void* pointers[kMaxArguments];
      packed.pointers(pointers);
      const cudaError_t error = record.cooperative ? runCooperativeGrid(packed.kernel(), record.grid, pointers)
                                                   : runGrid(packed.kernel(), record.grid, pointers);
      if (error != cudaSuccess) setStickyError(error);
    });
  });
  return cudaSuccess;
}

// What a launch asks for beside its geometry. Other attributes change no result.
struct Wishes {
  bool cooperative = false;
  bool clusters = false;
};

Wishes wishesOf(const cudaLaunchConfig_t& config) {
  Wishes wishes;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) wishes.cooperative = attribute.val.cooperative != 0;
    const auto& cluster = attribute.val.clusterDim;
    if (attribute.id == cudaLaunchAttributeClusterDimension) wishes.clusters = cluster.x * cluster.y * cluster.z > 1;
  }
  return wishes;
}

struct CallConfiguration {
  dim3 grid;
  dim3 block;
  std::size_t sharedBytes;
  cudaStream_t stream;
};
thread_local std::vector<CallConfiguration> t_configurations;

// A kernel of a sibling library. It owns its context, so it is called even when the device has failed meanwhile.
void runLibraryKernel(const LaunchRecord& record, const Stream& stream, void (*run)(void*), void* context) {
  const bool report = observed() && stickyError() == cudaSuccess;
  const uint64_t start = report ? softcuda_now() : 0;
  run(context);
  if (report) record.report(stream, start, softcuda_now());
}

// Reports the API call and has queue(stream, record) put the kernel on the stream.
template <class Queue>
cudaError_t libraryLaunch(cudaStream_t handle, const SoftcudaKernelInfo& info, Queue&& queue) {
  if (const cudaError_t error = initialize(); error != cudaSuccess) return remember(error);
  const bool driver = info.launched_by == SOFTCUDA_LAUNCHED_BY_DRIVER;
  ApiCall call(driver ? SOFTCUDA_API_DRIVER : SOFTCUDA_API_RUNTIME,
               driver ? static_cast<uint32_t>(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx)
                      : static_cast<uint32_t>(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060),
               driver ? "cuLaunchKernelEx" : "cudaLaunchKernelExC", info.name);
  if (const cudaError_t error = stickyError(); error != cudaSuccess) return remember(call.finish(error));
  const StreamRef stream = findStream(handle);
  if (const cudaError_t error = refuseWork(stream)) return remember(call.finish(error));
  const LaunchRecord record{
      call.correlation(),       call.startNs(),           info.name, {info.grid, info.block, info.dynamic_shared_bytes},
      info.static_shared_bytes, info.registers_per_thread};
  return remember(call.finish(queue(*stream, record)));
}

const char* nameOf(const RegisteredKernel* kernel) { return kernel ? kernel->name.c_str() : nullptr; }
RegisteredKernel* fromHandle(cudaKernel_t handle) { return reinterpret_cast<RegisteredKernel*>(handle); }

}  // namespace

cudaError_t queueKernel(ApiCall& call, const void* function, dim3 grid, dim3 block, void** arguments,
                        std::size_t sharedBytes, cudaStream_t stream) {
  return launch(call, findKernel(function), grid, block, arguments, sharedBytes, stream);
}

}  // namespace softcuda

using namespace softcuda;

extern "C" {

cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                             cudaStream_t stream) {
  RegisteredKernel* kernel = findKernel(func);
  return runtimeCall(
      CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel",
      [&](ApiCall& call) { return launch(call, kernel, gridDim, blockDim, args, sharedMem, stream); }, nameOf(kernel));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func, void** args) {
  RegisteredKernel* kernel = findKernel(func);
  return runtimeCall(
      CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060, "cudaLaunchKernelExC",
      [&](ApiCall& call) {
        if (!config) return cudaErrorInvalidValue;
        const Wishes wishes = wishesOf(*config);
        if (wishes.clusters) return softcuda_unsupported("a launch with clusters");
        return launch(call, kernel, config->gridDim, config->blockDim, args, config->dynamicSmemBytes, config->stream,
                      wishes.cooperative);
      },
      nameOf(kernel));
}

cudaError_t cudaLaunchCooperativeKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                                        cudaStream_t stream) {
  RegisteredKernel* kernel = findKernel(func);
  return runtimeCall(
      CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000, "cudaLaunchCooperativeKernel",
      [&](ApiCall& call) { return launch(call, kernel, gridDim, blockDim, args, sharedMem, stream, true); },
      nameOf(kernel));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  return SOFTCUDA_CALL(cudaLaunchHostFunc, v10000, {
    if (!fn) return cudaErrorInvalidValue;
    const StreamRef found = findStream(stream);
    if (const cudaError_t error = refuseWork(found)) return error;
    submit(*found, cudaGraphNodeTypeHost, [fn, userData](Stream&) { runHostFunction(fn, userData); });
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attr, const void* func) {
  return SOFTCUDA_CALL(cudaFuncGetAttributes, v3020, {
    if (!attr) return cudaErrorInvalidValue;
    const RegisteredKernel* kernel = findKernel(func);
    if (!kernel) return cudaErrorInvalidDeviceFunction;
    *attr = {};
    attr->maxThreadsPerBlock = kMaxThreadsPerBlock;
    attr->maxDynamicSharedSizeBytes = kernel->maxDynamicSharedBytes;
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* func, cudaFuncAttribute attr, int value) {
  return SOFTCUDA_CALL(cudaFuncSetAttribute, v9000, {
    RegisteredKernel* kernel = findKernel(func);
    if (!kernel) return cudaErrorInvalidDeviceFunction;
    if (attr == cudaFuncAttributeMaxDynamicSharedMemorySize) {
      if (value < 0 || value > kMaxSharedBytes) return cudaErrorInvalidValue;
      kernel->maxDynamicSharedBytes = value;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, const void* func, int blockSize, size_t) {
  if (!numBlocks || blockSize <= 0) return remember(cudaErrorInvalidValue);
  if (!findKernel(func)) return remember(cudaErrorInvalidDeviceFunction);
  *numBlocks = blocksPerMultiprocessor(blockSize);
  return cudaSuccess;
}

// --- what nvcc's host code calls

void** __cudaRegisterFatBinary(void*) {
  static void* handle;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void**, const char* hostFun, char*, const char* deviceName, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
  registerStub(hostFun, deviceName);
}

void __cudaRegisterVar(void**, char* hostVar, char*, const char* deviceName, int, size_t size, int, int) {
  registerShadow(hostVar, deviceName, size);
}
void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int) {}

unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, struct CUstream_st* stream) {
  t_configurations.push_back({gridDim, blockDim, sharedMem, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* gridDim, dim3* blockDim, size_t* sharedMem, void* stream) {
  if (t_configurations.empty()) return cudaErrorMissingConfiguration;
  const CallConfiguration top = t_configurations.back();
  t_configurations.pop_back();
  *gridDim = top.grid;
  *blockDim = top.block;
  *sharedMem = top.sharedBytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* hostFun) {
  RegisteredKernel* found = findKernel(hostFun);
  *kernel = reinterpret_cast<cudaKernel_t>(found);
  return found ? cudaSuccess : remember(cudaErrorInvalidDeviceFunction);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                               cudaStream_t stream) {
  return runtimeCall(
      CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000, "__cudaLaunchKernel",
      [&](ApiCall& call) { return launch(call, fromHandle(kernel), gridDim, blockDim, args, sharedMem, stream); },
      nameOf(fromHandle(kernel)));
}

// --- the sibling libraries

int softcuda_capturing(cudaStream_t stream) {
  const StreamRef found = findStream(stream);
  return found && found->capture() ? 1 : 0;
}

cudaError_t softcuda_launch(cudaStream_t stream, const SoftcudaKernelInfo* info, void (*run)(void*), void* context) {
  return libraryLaunch(stream, *info, [&](Stream& found, const LaunchRecord& record) {
    if (const auto capture = found.capture()) {  // run can be called only once
      capture->invalidate();
      softcuda_unsupported("this library call in a stream capture");
      return cudaErrorStreamCaptureUnsupported;
    }
    submit(found, [record, run, context](Stream& self) { runLibraryKernel(record, self, run, context); });
    return cudaSuccess;
  });
}

cudaError_t softcuda_launch_repeatable(cudaStream_t stream, const SoftcudaKernelInfo* info, void (*run)(void*),
                                       void* context, void (*release)(void*)) {
  return libraryLaunch(stream, *info, [&](Stream& found, const LaunchRecord& record) {
    submit(found, cudaGraphNodeTypeKernel,
           [record, run, owned = std::shared_ptr<void>(context, release)](Stream& self) {
             runLibraryKernel(record, self, run, owned.get());
           });
    return cudaSuccess;
  });
}
}
