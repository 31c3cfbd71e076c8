// SPDX-License-Identifier: Apache-2.0
// Compiled twice: by g++ for the software device, by nvcc for a GPU. Everything else of the workloads is plain C++.
#include "workloads/nn/kernels.cuh"

#include <algorithm>
#include <cmath>

#include "workloads/nn/launch.h"
#include "workloads/nn/nvtx.h"
#include "workloads/nn/operations.h"

namespace plumb::nn {

#define PLUMB_KERNEL_ALL_TYPES(kernel)     \
  SOFTCUDA_KERNEL(kernels::kernel<float>)  \
  SOFTCUDA_KERNEL(kernels::kernel<__half>) \
  SOFTCUDA_KERNEL(kernels::kernel<__nv_bfloat16>)

PLUMB_KERNEL_ALL_TYPES(add)
PLUMB_KERNEL_ALL_TYPES(siluForward)
PLUMB_KERNEL_ALL_TYPES(siluBackward)
PLUMB_KERNEL_ALL_TYPES(biasForward)
PLUMB_KERNEL_ALL_TYPES(reluBackward)
PLUMB_KERNEL_ALL_TYPES(embeddingForward)
PLUMB_KERNEL_ALL_TYPES(embeddingBackward)
PLUMB_KERNEL_ALL_TYPES(rmsNormForward)
PLUMB_KERNEL_ALL_TYPES(rmsNormBackward)
PLUMB_KERNEL_ALL_TYPES(columnPartials)
PLUMB_KERNEL_ALL_TYPES(causalSoftmaxForward)
PLUMB_KERNEL_ALL_TYPES(causalSoftmaxBackward)
PLUMB_KERNEL_ALL_TYPES(crossEntropyForward)
PLUMB_KERNEL_ALL_TYPES(crossEntropyBackward)
PLUMB_KERNEL_ALL_TYPES(squaredErrorForward)
PLUMB_KERNEL_ALL_TYPES(squaredErrorBackward)
SOFTCUDA_KERNEL(kernels::cast<float, float>)
SOFTCUDA_KERNEL(kernels::cast<__half, float>)
SOFTCUDA_KERNEL(kernels::cast<__nv_bfloat16, float>)
SOFTCUDA_KERNEL(kernels::cast<float, __half>)
SOFTCUDA_KERNEL(kernels::cast<float, __nv_bfloat16>)
SOFTCUDA_KERNEL(kernels::adamw)
SOFTCUDA_KERNEL(kernels::adamwInHalf)
SOFTCUDA_KERNEL(kernels::scaleAndCheck)
SOFTCUDA_KERNEL(kernels::initialize)
SOFTCUDA_KERNEL(kernels::columnFinish)
SOFTCUDA_KERNEL(kernels::sum)
SOFTCUDA_KERNEL(kernels::triad)
SOFTCUDA_KERNEL(kernels::sumChunks)

namespace {

constexpr unsigned kPointwiseThreads = 128;
constexpr unsigned kRowsPerBlock = 4;

dim3 pointwiseGrid(size_t count) {
  constexpr size_t kPerBlock = size_t{kPointwiseThreads} * kernels::kPack;
  return {static_cast<unsigned>((count + kPerBlock - 1) / kPerBlock)};
}
dim3 rowGrid(int rows) { return {(static_cast<unsigned>(rows) + kRowsPerBlock - 1) / kRowsPerBlock}; }
const dim3 kRowBlock(kernels::kLanes, kRowsPerBlock);

int dividedBy(size_t count, size_t by) { return static_cast<int>(count / by); }

template <class T>
T* data(const Tensor& tensor) {
  return static_cast<T*>(tensor.data);
}

// Calls body with a value of the tensor's element type.
template <class Body>
void withType(Dtype dtype, Body body) {
  switch (dtype) {
    case Dtype::kFloat32:
      return body(float{});
    case Dtype::kFloat16:
      return body(__half{});
    case Dtype::kBfloat16:
      return body(__nv_bfloat16{});
    case Dtype::kInt32:
      break;
  }
  throw DeviceError("an operation on integers was asked for that exists for floating-point tensors only");
}

}  // namespace

bool kernelsAreForGpu() {
#ifdef __CUDACC__
  return true;
#else
  return false;
#endif
}

void cast(cudaStream_t stream, const Tensor& in, const Tensor& out) {
  const OperationRange range("cast", 0, in.bytes() + out.bytes());
  const dim3 grid = pointwiseGrid(in.count);
  if (in.dtype == Dtype::kFloat32) {
    withType(out.dtype, [&]<class To>(To) {
      launch(kernels::cast<To, float>, grid, kPointwiseThreads, stream, data<float>(in), data<To>(out), in.count);
    });
  } else {
    if (out.dtype != Dtype::kFloat32) throw DeviceError("cast goes from or to fp32 only");
    withType(in.dtype, [&]<class From>(From) {
      launch(kernels::cast<float, From>, grid, kPointwiseThreads, stream, data<From>(in), data<float>(out), in.count);
    });
  }
}

void add(cudaStream_t stream, const Tensor& a, const Tensor& b, const Tensor& out) {
  const OperationRange range("residual add", out.count, 3 * out.bytes());
  withType(out.dtype, [&]<class T>(T) {
    launch(kernels::add<T>, pointwiseGrid(out.count), kPointwiseThreads, stream, data<T>(a), data<T>(b), data<T>(out),
           out.count);
  });
}

void siluForward(cudaStream_t stream, const Tensor& in, const Tensor& out) {
  const OperationRange range("silu", 4 * in.count, 2 * in.bytes());
  withType(in.dtype, [&]<class T>(T) {
    launch(kernels::siluForward<T>, pointwiseGrid(in.count), kPointwiseThreads, stream, data<T>(in), data<T>(out),
           in.count);
  });
}

void siluBackward(cudaStream_t stream, const Tensor& in, const Tensor& gradient) {
  const OperationRange range("silu backward", 8 * in.count, 3 * in.bytes());
  withType(in.dtype, [&]<class T>(T) {
    launch(kernels::siluBackward<T>, pointwiseGrid(in.count), kPointwiseThreads, stream, data<T>(in), data<T>(gradient),
           in.count);
  });
}

void biasForward(cudaStream_t stream, const Tensor& x, const Tensor& bias, bool relu) {
  const OperationRange range(relu ? "bias and relu" : "bias", (relu ? 2 : 1) * x.count, 2 * x.bytes() + bias.bytes());
  withType(x.dtype, [&]<class T>(T) {
    launch(kernels::biasForward<T>, pointwiseGrid(x.count), kPointwiseThreads, stream, data<T>(x), data<T>(bias),
           x.count, static_cast<int>(bias.count), relu ? 1 : 0);
  });
}

void reluBackward(cudaStream_t stream, const Tensor& output, const Tensor& gradient) {
  const OperationRange range("relu backward", output.count, 3 * output.bytes());
  withType(output.dtype, [&]<class T>(T) {
    launch(kernels::reluBackward<T>, pointwiseGrid(output.count), kPointwiseThreads, stream, data<T>(output),
           data<T>(gradient), output.count);
  });
}

void embeddingForward(cudaStream_t stream, const Tensor& table, const Tensor& ids, const Tensor& out) {
  const OperationRange range("embedding lookup", 0, 2 * out.bytes() + ids.bytes());
  withType(out.dtype, [&]<class T>(T) {
    launch(kernels::embeddingForward<T>, pointwiseGrid(out.count), kPointwiseThreads, stream, data<T>(table),
           ids.ints(), data<T>(out), out.count, dividedBy(out.count, ids.count));
  });
}

void embeddingBackward(cudaStream_t stream, const Tensor& gradient, const Tensor& ids, const Tensor& tableGradient) {
  const OperationRange range("embedding backward", gradient.count,
                             gradient.bytes() + ids.bytes() + tableGradient.bytes());
  const int columns = dividedBy(gradient.count, ids.count);
  // Whole warps, since their lanes work together.
  const unsigned packs = static_cast<unsigned>(columns / kernels::kPack);
  const unsigned threads = std::min(256u, (packs + kernels::kLanes - 1) / kernels::kLanes * kernels::kLanes);
  const dim3 grid(static_cast<unsigned>(dividedBy(tableGradient.count, columns)), (packs + threads - 1) / threads);
  withType(gradient.dtype, [&]<class T>(T) {
    launch(kernels::embeddingBackward<T>, grid, threads, stream, data<T>(gradient), ids.ints(), tableGradient.floats(),
           static_cast<int>(ids.count), columns);
  });
}

void rmsNormForward(cudaStream_t stream, const Tensor& in, const Tensor& gain, const Tensor& out,
                    const Tensor& inverseRms) {
  const OperationRange range("rmsnorm", 4 * in.count, 2 * in.bytes() + gain.bytes() + inverseRms.bytes());
  const int rows = static_cast<int>(inverseRms.count);
  withType(in.dtype, [&]<class T>(T) {
    launch(kernels::rmsNormForward<T>, rowGrid(rows), kRowBlock, stream, data<T>(in), data<T>(gain), data<T>(out),
           inverseRms.floats(), rows, static_cast<int>(gain.count));
  });
}

void rmsNormBackward(cudaStream_t stream, const Tensor& in, const Tensor& gain, const Tensor& inverseRms,
                     const Tensor& outGradient, const Tensor& residualGradient, const Tensor& inGradient) {
  const OperationRange range("rmsnorm backward", 9 * in.count,
                             (residualGradient.data ? 4 : 3) * in.bytes() + gain.bytes() + inverseRms.bytes());
  const int rows = static_cast<int>(inverseRms.count);
  withType(in.dtype, [&]<class T>(T) {
    launch(kernels::rmsNormBackward<T>, rowGrid(rows), kRowBlock, stream, data<T>(in), data<T>(gain),
           inverseRms.floats(), data<T>(outGradient), data<T>(residualGradient), data<T>(inGradient), rows,
           static_cast<int>(gain.count));
  });
}

namespace {

// in and inverseRms may be without data.
void sumOverRows(cudaStream_t stream, const char* name, const Tensor& gradient, const Tensor& in,
                 const Tensor& inverseRms, const Tensor& scratch, const Tensor& out) {
  const int columns = static_cast<int>(out.count);
  const int rows = dividedBy(gradient.count, out.count);
  const unsigned packs = (static_cast<unsigned>(columns) + kernels::kPack - 1) / kernels::kPack;
  const unsigned threads = std::min(64u, packs);
  const size_t partialBytes = kColumnChunks * out.bytes();
  {
    const OperationRange range(name, (in.data ? 3 : 1) * gradient.count,
                               gradient.bytes() + in.bytes() + inverseRms.bytes() + partialBytes);
    withType(gradient.dtype, [&]<class T>(T) {
      launch(kernels::columnPartials<T>, dim3(kColumnChunks, (packs + threads - 1) / threads), threads, stream,
             data<T>(gradient), data<T>(in), inverseRms.floats(), scratch.floats(), rows, columns);
    });
  }
  const OperationRange range("column sum", kColumnChunks * out.count, partialBytes + out.bytes());
  launch(kernels::columnFinish, pointwiseGrid(out.count), kPointwiseThreads, stream, scratch.floats(), out.floats(),
         kColumnChunks, columns);
}

}  // namespace

void rmsNormGainBackward(cudaStream_t stream, const Tensor& in, const Tensor& inverseRms, const Tensor& outGradient,
                         const Tensor& scratch, const Tensor& gainGradient) {
  sumOverRows(stream, "rmsnorm gain backward", outGradient, in, inverseRms, scratch, gainGradient);
}

void biasBackward(cudaStream_t stream, const Tensor& gradient, const Tensor& scratch, const Tensor& biasGradient) {
  sumOverRows(stream, "bias backward", gradient, {}, {}, scratch, biasGradient);
}

void causalSoftmaxForward(cudaStream_t stream, const Tensor& scores, int sequence) {
  const OperationRange range("causal softmax", 5 * scores.count / 2, 2 * scores.bytes());
  const int rows = dividedBy(scores.count, sequence);
  withType(scores.dtype, [&]<class T>(T) {
    launch(kernels::causalSoftmaxForward<T>, rowGrid(rows), kRowBlock, stream, data<T>(scores), rows, sequence);
  });
}

void causalSoftmaxBackward(cudaStream_t stream, const Tensor& probabilities, const Tensor& gradient, int sequence) {
  const OperationRange range("causal softmax backward", 2 * gradient.count, 3 * gradient.bytes());
  const int rows = dividedBy(gradient.count, sequence);
  withType(gradient.dtype, [&]<class T>(T) {
    launch(kernels::causalSoftmaxBackward<T>, rowGrid(rows), kRowBlock, stream, data<T>(probabilities),
           data<T>(gradient), rows, sequence);
  });
}

void crossEntropyForward(cudaStream_t stream, const Tensor& logits, const Tensor& targets, const Tensor& loss,
                         const Tensor& logSum) {
  const OperationRange range("cross-entropy", 4 * logits.count,
                             logits.bytes() + targets.bytes() + loss.bytes() + logSum.bytes());
  const int rows = static_cast<int>(targets.count);
  withType(logits.dtype, [&]<class T>(T) {
    launch(kernels::crossEntropyForward<T>, rowGrid(rows), kRowBlock, stream, data<T>(logits), targets.ints(),
           loss.floats(), logSum.floats(), rows, dividedBy(logits.count, targets.count));
  });
}

void crossEntropyBackward(cudaStream_t stream, const Tensor& logits, const Tensor& targets, const Tensor& logSum,
                          float factor) {
  const OperationRange range("cross-entropy backward", 4 * logits.count,
                             2 * logits.bytes() + targets.bytes() + logSum.bytes());
  const int rows = static_cast<int>(targets.count);
  withType(logits.dtype, [&]<class T>(T) {
    launch(kernels::crossEntropyBackward<T>, rowGrid(rows), kRowBlock, stream, data<T>(logits), targets.ints(),
           logSum.floats(), factor, rows, dividedBy(logits.count, targets.count));
  });
}

void squaredErrorForward(cudaStream_t stream, const Tensor& prediction, const Tensor& target, const Tensor& loss) {
  const OperationRange range("squared error", 2 * loss.count, prediction.bytes() + target.bytes() + loss.bytes());
  withType(prediction.dtype, [&]<class T>(T) {
    launch(kernels::squaredErrorForward<T>, pointwiseGrid(loss.count), kPointwiseThreads, stream, data<T>(prediction),
           target.floats(), loss.floats(), loss.count);
  });
}

void squaredErrorBackward(cudaStream_t stream, const Tensor& prediction, const Tensor& target, const Tensor& gradient,
                          float factor) {
  const OperationRange range("squared error backward", 2 * gradient.count,
                             prediction.bytes() + target.bytes() + gradient.bytes());
  withType(prediction.dtype, [&]<class T>(T) {
    launch(kernels::squaredErrorBackward<T>, pointwiseGrid(gradient.count), kPointwiseThreads, stream,
           data<T>(prediction), target.floats(), data<T>(gradient), factor, gradient.count);
  });
}

void sum(cudaStream_t stream, const Tensor& in, const Tensor& out, float factor) {
  const OperationRange range("sum", in.count, in.bytes() + sizeof(float));
  launch(kernels::sum, 1, kernels::kSumThreads, stream, in.floats(), out.floats(), static_cast<int>(in.count), factor);
}

void adamw(cudaStream_t stream, const AdamwOptions& options, int step, const Tensor& weight, const Tensor& gradient,
           const Tensor& m, const Tensor& v) {
  const OperationRange range("adamw", 15 * weight.count, 7 * weight.bytes());
  const kernels::AdamwStep values{options.learningRate,
                                  options.beta1,
                                  options.beta2,
                                  options.epsilon,
                                  options.weightDecay,
                                  options.gradientFactor,
                                  1.0f - std::pow(options.beta1, static_cast<float>(step)),
                                  1.0f - std::pow(options.beta2, static_cast<float>(step))};
  if (weight.dtype == Dtype::kFloat16) {
    launch(kernels::adamwInHalf, pointwiseGrid(weight.count), kPointwiseThreads, stream, data<__half>(weight),
           data<__half>(gradient), data<__half>(m), data<__half>(v), weight.count, values);
    return;
  }
  launch(kernels::adamw, pointwiseGrid(weight.count), kPointwiseThreads, stream, weight.floats(), gradient.floats(),
         m.floats(), v.floats(), weight.count, values);
}

void scaleAndCheck(cudaStream_t stream, const Tensor& gradient, float factor, const Tensor& foundNonFinite) {
  const OperationRange range("unscale and check", 2 * gradient.count, 2 * gradient.bytes());
  launch(kernels::scaleAndCheck, pointwiseGrid(gradient.count), kPointwiseThreads, stream, gradient.floats(), factor,
         foundNonFinite.ints(), gradient.count);
}

void initialize(cudaStream_t stream, const Tensor& weight, uint64_t firstIndex, uint64_t seed, float scale,
                float offset) {
  const OperationRange range("initialize", 2 * weight.count, weight.bytes());
  launch(kernels::initialize, pointwiseGrid(weight.count), kPointwiseThreads, stream, weight.floats(), weight.count,
         firstIndex, seed, scale, offset);
}

void triad(cudaStream_t stream, const Tensor& a, const Tensor& b, const Tensor& out) {
  const OperationRange range("triad", 2 * out.count, 3 * out.bytes());
  launch(kernels::triad, pointwiseGrid(out.count), kPointwiseThreads, stream, a.floats(), b.floats(), out.floats(),
         out.count);
}

static_assert(kReadMultiple == kernels::kChunk);
size_t readSums(size_t count) { return count / kernels::kChunk * kernels::kChunkThreads; }

void read(cudaStream_t stream, const Tensor& in, const Tensor& sums) {
  const OperationRange range("read", in.count, in.bytes() + sums.bytes());
  launch(kernels::sumChunks, dim3(static_cast<unsigned>(in.count / kernels::kChunk)), kernels::kChunkThreads, stream,
         in.floats(), sums.floats());
}

}  // namespace plumb::nn
