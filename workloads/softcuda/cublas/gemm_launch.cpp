// SPDX-License-Identifier: Apache-2.0
// A GEMM as a kernel on a stream: its name, its grid, and the hand-over to the stream's worker.
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "workloads/softcuda/cublas/gemm.h"
#include "workloads/softcuda/device.h"

namespace softcublas {
namespace {

// One block of the grid is one 128 × 128 tile of the result, as in cuBLAS's own kernels.
constexpr int64_t kTile = 128;
constexpr unsigned kThreadsPerBlock = 256;

const char* elementName(Element type) {
  switch (type) {
    case Element::kFp16:
      return "f16";
    case Element::kBf16:
      return "bf16";
    case Element::kFp32:
      return "f32";
    case Element::kFp64:
      return "f64";
  }
  return "?";
}

const char* operandName(const Gemm& gemm) {
  if (gemm.ab_type == Element::kFp32) {
    switch (gemm.compute) {
      case Compute::kTf32:
        return "tf32";
      case Compute::kFp16:
        return "f16";
      case Compute::kBf16:
        return "bf16";
      default:
        break;
    }
  }
  return elementName(gemm.ab_type);
}

std::string makeName(const Gemm& gemm) {
  std::string name = "softgemm_";
  name += operandName(gemm);
  name += '_';
  name += elementName(gemm.c_type);
  name += gemm.compute == Compute::kFp64 ? "_f64_" : "_f32_";
  name += gemm.transpose_a ? 't' : 'n';
  name += gemm.transpose_b ? 't' : 'n';
  if (gemm.bias) {
    name += "_bias";
  }
  if (gemm.activation != Activation::kNone) {
    name += gemm.activation == Activation::kRelu ? "_relu" : "_gelu";
  }
  return name;
}

unsigned tiles(int64_t length) { return static_cast<unsigned>((length + kTile - 1) / kTile); }

void runKernel(void* context) { runGemm(*static_cast<const Gemm*>(context), softcuda_threads()); }
void releaseKernel(void* context) { delete static_cast<Gemm*>(context); }

}  // namespace

const char* kernelName(const Gemm& gemm) {
  // Names are made once and never freed: records keep the pointers.
  static std::array<std::atomic<const char*>, 4 * 4 * 5 * 4 * 2 * 3> names{};
  size_t index = static_cast<size_t>(gemm.ab_type) * 4 + static_cast<size_t>(gemm.c_type);
  index = index * 5 + static_cast<size_t>(gemm.compute);
  index = index * 4 + (gemm.transpose_a ? 2 : 0) + (gemm.transpose_b ? 1 : 0);
  index = (index * 2 + (gemm.bias ? 1 : 0)) * 3 + static_cast<size_t>(gemm.activation);
  const char* name = names[index].load(std::memory_order_acquire);
  if (!name) {
    char* const made = strdup(makeName(gemm).c_str());
    if (names[index].compare_exchange_strong(name, made)) {
      name = made;
    } else {
      std::free(made);
    }
  }
  return name;
}

}  // namespace softcublas

extern "C" __attribute__((visibility("default"))) cudaError_t softcublas_gemm(cudaStream_t stream,
                                                                              const softcublas::Gemm* gemm) {
  using namespace softcublas;
  SoftcudaKernelInfo info{};
  info.name = kernelName(*gemm);
  info.grid = dim3(tiles(gemm->m), tiles(gemm->n), static_cast<unsigned>(gemm->batch));
  info.block = dim3(kThreadsPerBlock, 1, 1);
  auto copy = std::make_unique<Gemm>(*gemm);
  const cudaError_t error = softcuda_launch_repeatable(stream, &info, runKernel, copy.get(), releaseKernel);
  if (error == cudaSuccess) {
    copy.release();  // the kernel owns it now
  }
  return error;
}
