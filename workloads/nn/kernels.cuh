// SPDX-License-Identifier: Apache-2.0
// The workloads' own kernels, for operations.cu alone. Template parameter T is the type of activations and of gathered
// weights (float, __half,
// __nv_bfloat16); arithmetic is fp32. All matrices are row-major and dense.
//
// Pointwise kernels handle kPack neighbouring elements per thread: one or two 16-byte accesses on a GPU, a short vector
// loop on the CPU. Row kernels give a row to kLanes threads: a warp on a GPU, which meets in shuffles, and one thread
// on the CPU, where a barrier costs more than the row. Pointers are 16-byte aligned, and so is every row that is read
// in packs (RMSNorm, embedding: columns are a multiple of kPack). Nothing adds in an order that depends on timing, so
// results repeat to the bit.
#pragma once
#include "workloads/softcuda/kernels/softcuda_kernel.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace plumb::nn::kernels {

inline constexpr int kPack = 8;
#ifdef __CUDACC__
inline constexpr int kLanes = 32;
#else
inline constexpr int kLanes = 1;
#endif

template <class T>
struct alignas(16) Pack {
  T values[kPack];
};
struct Floats {
  float values[kPack];
};

__device__ inline float toFloat(float x) { return x; }
__device__ inline float toFloat(__half x) { return __half2float(x); }
__device__ inline float toFloat(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T>
__device__ inline T fromFloat(float x);
template <>
__device__ inline float fromFloat<float>(float x) {
  return x;
}
template <>
__device__ inline __half fromFloat<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 fromFloat<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

template <class T>
__device__ inline Floats load(const T* from) {
  const Pack<T> pack = *reinterpret_cast<const Pack<T>*>(from);
  Floats out;
  for (int k = 0; k < kPack; ++k) out.values[k] = toFloat(pack.values[k]);
  return out;
}

template <class T>
__device__ inline void store(T* to, const Floats& from) {
  Pack<T> pack;
  for (int k = 0; k < kPack; ++k) pack.values[k] = fromFloat<T>(from.values[k]);
  *reinterpret_cast<Pack<T>*>(to) = pack;
}

// The same for the pack at index i of an array whose end may lie inside the pack; what lies behind the end reads as 0.
template <class T>
__device__ inline Floats load(const T* array, size_t i, size_t count) {
  if (i + kPack <= count) return load(array + i);
  Floats out{};
  for (size_t k = i; k < count; ++k) out.values[k - i] = toFloat(array[k]);
  return out;
}

template <class T>
__device__ inline void store(T* array, size_t i, size_t count, const Floats& from) {
  if (i + kPack <= count) return store(array + i, from);
  for (size_t k = i; k < count; ++k) array[k] = fromFloat<T>(from.values[k - i]);
}

// The first element of the calling thread's pack in a pointwise kernel.
__device__ inline size_t firstElement() { return (static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kPack; }

// Row kernels: blockDim = (kLanes, rows per block).
__device__ inline int rowIndex() { return static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y); }
__device__ inline int lane() { return static_cast<int>(threadIdx.x); }

__device__ inline float rowSum(float value) {
#ifdef __CUDACC__
  for (int offset = kLanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
#endif
  return value;
}

__device__ inline float rowMax(float value) {
#ifdef __CUDACC__
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
#endif
  return value;
}

// Bit i: whether it holds in lane i. All lanes of the warp must call it.
__device__ inline unsigned lanesWhere(bool holds) {
#ifdef __CUDACC__
  return __ballot_sync(0xffffffffu, holds);
#else
  return holds ? 1u : 0u;
#endif
}

__device__ inline float sumOf(const Floats& x) {
  return ((x.values[0] + x.values[1]) + (x.values[2] + x.values[3])) +
         ((x.values[4] + x.values[5]) + (x.values[6] + x.values[7]));
}

// --- pointwise

template <class To, class From>
__global__ void cast(const From* in, To* out, size_t count) {
  const size_t i = firstElement();
  if (i >= count) return;
  store(out, i, count, load(in, i, count));
}

// out = a + b; out may be a or b.
template <class T>
__global__ void add(const T* a, const T* b, T* out, size_t count) {
  const size_t i = firstElement();
  if (i >= count) return;
  Floats x = load(a, i, count);
  const Floats y = load(b, i, count);
  for (int k = 0; k < kPack; ++k) x.values[k] += y.values[k];
  store(out, i, count, x);
}

// out = in * sigmoid(in)
template <class T>
__global__ void siluForward(const T* in, T* out, size_t count) {
  const size_t i = firstElement();
  if (i >= count) return;
  Floats x = load(in, i, count);
  for (int k = 0; k < kPack; ++k) x.values[k] = x.values[k] / (1.0f + expf(-x.values[k]));
  store(out, i, count, x);
}

// gradient = gradient * d silu / d in, in place
template <class T>
__global__ void siluBackward(const T* in, T* gradient, size_t count) {
  const size_t i = firstElement();
  if (i >= count) return;
  const Floats x = load(in, i, count);
  Floats g = load(gradient, i, count);
  for (int k = 0; k < kPack; ++k) {
    const float s = 1.0f / (1.0f + expf(-x.values[k]));
    g.values[k] *= s * (1.0f + x.values[k] * (1.0f - s));
  }
  store(gradient, i, count, g);
}

// x += bias (one value a column), then the maximum with 0 if relu; in place
template <class T>
__global__ void biasForward(T* x, const T* bias, size_t count, int columns, int relu) {
  const size_t i = firstElement();
  if (i >= count) return;
  Floats y = load(x, i, count);
  size_t column = i % columns;
  for (int k = 0; k < kPack; ++k) {
    y.values[k] += toFloat(bias[column]);
    if (relu) y.values[k] = fmaxf(y.values[k], 0.0f);
    if (++column == static_cast<size_t>(columns)) column = 0;
  }
  store(x, i, count, y);
}

// gradient = 0 where the layer's output was not above 0; in place
template <class T>
__global__ void reluBackward(const T* output, T* gradient, size_t count) {
  const size_t i = firstElement();
  if (i >= count) return;
  const Floats y = load(output, i, count);
  Floats g = load(gradient, i, count);
  for (int k = 0; k < kPack; ++k) g.values[k] = y.values[k] > 0.0f ? g.values[k] : 0.0f;
  store(gradient, i, count, g);
}

struct AdamwStep {
  float learningRate;
  float beta1;
  float beta2;
  float epsilon;
  float weightDecay;
  float gradientFactor;
  float correction1;  // 1 - beta1^t
  float correction2;  // 1 - beta2^t
};

// value as a tensor of fp16 would keep it
__device__ inline float inHalf(float value) { return toFloat(fromFloat<__half>(value)); }

// The same on tensors of fp16, operation by operation as torch.optim.AdamW does it there: each result goes through
// fp16.
__global__ void adamwInHalf(__half* weight, const __half* gradient, __half* m, __half* v, size_t count,
                            AdamwStep step) {
  const size_t i = firstElement();
  if (i >= count) return;
  Floats w = load(weight, i, count);
  Floats first = load(m, i, count);
  Floats second = load(v, i, count);
  const Floats g = load(gradient, i, count);
  for (int k = 0; k < kPack; ++k) {
    const float decayed = inHalf(w.values[k] * (1.0f - step.learningRate * step.weightDecay));
    first.values[k] = inHalf(first.values[k] + (1.0f - step.beta1) * (g.values[k] - first.values[k]));
    second.values[k] = inHalf(inHalf(second.values[k] * step.beta2) + (1.0f - step.beta2) * g.values[k] * g.values[k]);
    const float root = inHalf(inHalf(sqrtf(second.values[k])) / sqrtf(step.correction2));
    const float denominator = inHalf(root + step.epsilon);
    w.values[k] = decayed - step.learningRate / step.correction1 * (first.values[k] / denominator);
  }
  store(weight, i, count, w);
  store(m, i, count, first);
  store(v, i, count, second);
}

__global__ void adamw(float* weight, const float* gradient, float* m, float* v, size_t count, AdamwStep step) {
  const size_t i = firstElement();
  if (i >= count) return;
  Floats w = load(weight, i, count);
  Floats first = load(m, i, count);
  Floats second = load(v, i, count);
  Floats g = load(gradient, i, count);
  for (int k = 0; k < kPack; ++k) {
    g.values[k] *= step.gradientFactor;
    first.values[k] = step.beta1 * first.values[k] + (1.0f - step.beta1) * g.values[k];
    second.values[k] = step.beta2 * second.values[k] + (1.0f - step.beta2) * g.values[k] * g.values[k];
    const float direction =
        (first.values[k] / step.correction1) / (sqrtf(second.values[k] / step.correction2) + step.epsilon);
    w.values[k] -= step.learningRate * (direction + step.weightDecay * w.values[k]);
  }
  store(weight, i, count, w);
  store(m, i, count, first);
  store(v, i, count, second);
}

// gradient *= factor; notes whether any was inf or nan
__global__ void scaleAndCheck(float* gradient, float factor, int* foundNonFinite, size_t count) {
  const size_t i = firstElement();
  if (i >= count) return;
  Floats g = load(gradient, i, count);
  bool finite = true;
  for (int k = 0; k < kPack; ++k) {
    finite = finite && fabsf(g.values[k]) <= 3.402823466e38f;  // false for nan too
    g.values[k] *= factor;
  }
  store(gradient, i, count, g);
  if (!finite) atomicMax(foundNonFinite, 1);
}

// weight[i] = offset + scale * u, u uniform in [-1, 1) from (seed, firstIndex + i) alone
__global__ void initialize(float* weight, size_t count, uint64_t firstIndex, uint64_t seed, float scale, float offset) {
  const size_t i = firstElement();
  if (i >= count) return;
  Floats w;
  for (int k = 0; k < kPack; ++k) {
    uint64_t x = (firstIndex + i + k) * 0x9e3779b97f4a7c15ull + seed;  // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    const float u = static_cast<float>(static_cast<uint32_t>(x >> 40)) * (1.0f / 8388608.0f) - 1.0f;
    w.values[k] = offset + scale * u;
  }
  // A slice of a shard may start anywhere.
  for (size_t k = i; k < count && k < i + kPack; ++k) weight[k] = w.values[k - i];
}

// out = a + 3 b
__global__ void triad(const float* a, const float* b, float* out, size_t count) {
  const size_t i = firstElement();
  if (i >= count) return;
  Floats x = load(a, i, count);
  const Floats y = load(b, i, count);
  for (int k = 0; k < kPack; ++k) x.values[k] += 3.0f * y.values[k];
  store(out, i, count, x);
}

// Floats that a block of sumChunks reads.
inline constexpr size_t kChunk = 16384;
#ifdef __CUDACC__
inline constexpr int kChunkThreads = 128;
#else
inline constexpr int kChunkThreads = 1;
#endif

// out[i] = the sum of what thread i reads of in: nothing but reading. count: a multiple of kChunk.
__global__ void sumChunks(const float* in, float* out) {
  constexpr size_t kStride = size_t{kChunkThreads} * kPack;
  const float* chunk = in + blockIdx.x * kChunk;
  Floats even{}, odd{};
  for (size_t i = threadIdx.x * kPack; i < kChunk; i += 2 * kStride) {
    const Floats a = load(chunk + i), b = load(chunk + i + kStride);
    for (int k = 0; k < kPack; ++k) even.values[k] += a.values[k];
    for (int k = 0; k < kPack; ++k) odd.values[k] += b.values[k];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sumOf(even) + sumOf(odd);
}

// --- embedding

// out[token][:] = table[ids[token]][:]
template <class T>
__global__ void embeddingForward(const T* table, const int* ids, T* out, size_t count, int columns) {
  const size_t i = firstElement();
  if (i >= count) return;
  const size_t token = i / columns;
  store(out + i, load(table + static_cast<size_t>(ids[token]) * columns + i % columns));
}

// tableGradient[row][:] = sum of gradient[token][:] over the tokens with that id, in order of the tokens. Block (row,
// y): a thread owns kPack columns, so no two threads add to one element; the lanes of a warp look at as many tokens at
// once.
template <class T>
__global__ void embeddingBackward(const T* gradient, const int* ids, float* tableGradient, int tokens, int columns) {
  const int row = static_cast<int>(blockIdx.x);
  const int c = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x) * kPack;
  const int ownLane = static_cast<int>(threadIdx.x) % kLanes;
  Floats sum{};
  for (int first = 0; first < tokens; first += kLanes) {
    const int candidate = first + ownLane;
    unsigned matches = lanesWhere(candidate < tokens && ids[candidate] == row);
    for (; matches != 0; matches &= matches - 1) {
      if (c >= columns) continue;
      const Floats g = load(gradient + static_cast<size_t>(first + __ffs(static_cast<int>(matches)) - 1) * columns + c);
      for (int k = 0; k < kPack; ++k) sum.values[k] += g.values[k];
    }
  }
  if (c < columns) store(tableGradient + static_cast<size_t>(row) * columns + c, sum);
}

// --- RMSNorm: out = in / rms(in) * gain

template <class T>
__global__ void rmsNormForward(const T* in, const T* gain, T* out, float* inverseRms, int rows, int columns) {
  const int row = rowIndex();
  if (row >= rows) return;
  const T* x = in + static_cast<size_t>(row) * columns;
  T* y = out + static_cast<size_t>(row) * columns;
  Floats squares{};
  for (int c = lane() * kPack; c < columns; c += kLanes * kPack) {
    const Floats v = load(x + c);
    for (int k = 0; k < kPack; ++k) squares.values[k] += v.values[k] * v.values[k];
  }
  const float r = rsqrtf(rowSum(sumOf(squares)) / static_cast<float>(columns) + 1e-5f);
  for (int c = lane() * kPack; c < columns; c += kLanes * kPack) {
    Floats v = load(x + c);
    const Floats g = load(gain + c);
    for (int k = 0; k < kPack; ++k) v.values[k] *= r * g.values[k];
    store(y + c, v);
  }
  if (lane() == 0) inverseRms[row] = r;
}

// inGradient = residualGradient + d RMSNorm / d in * outGradient; residualGradient may be null and may be inGradient.
template <class T>
__global__ void rmsNormBackward(const T* in, const T* gain, const float* inverseRms, const T* outGradient,
                                const T* residualGradient, T* inGradient, int rows, int columns) {
  const int row = rowIndex();
  if (row >= rows) return;
  const size_t start = static_cast<size_t>(row) * columns;
  const float r = inverseRms[row];
  Floats products{};
  for (int c = lane() * kPack; c < columns; c += kLanes * kPack) {
    const Floats x = load(in + start + c);
    const Floats g = load(gain + c);
    const Floats dy = load(outGradient + start + c);
    for (int k = 0; k < kPack; ++k) products.values[k] += x.values[k] * g.values[k] * dy.values[k];
  }
  const float projection = rowSum(sumOf(products)) * r * r / static_cast<float>(columns);
  for (int c = lane() * kPack; c < columns; c += kLanes * kPack) {
    const Floats x = load(in + start + c);
    const Floats g = load(gain + c);
    const Floats dy = load(outGradient + start + c);
    Floats dx{};
    if (residualGradient) dx = load(residualGradient + start + c);
    for (int k = 0; k < kPack; ++k) dx.values[k] += r * (g.values[k] * dy.values[k] - x.values[k] * projection);
    store(inGradient + start + c, dx);
  }
}

// --- sums over rows, in two steps: gridDim.x chunks of rows, then the chunks. columns: any number.

// partial[chunk][c] = sum over the chunk's rows of gradient[row][c] (times in[row][c] * inverseRms[row] unless in is
// null). blockDim.x threads share the columns, kPack each; gridDim.y repeats that over the columns.
template <class T>
__global__ void columnPartials(const T* gradient, const T* in, const float* inverseRms, float* partial, int rows,
                               int columns) {
  const int perChunk = (rows + static_cast<int>(gridDim.x) - 1) / static_cast<int>(gridDim.x);
  const int begin = static_cast<int>(blockIdx.x) * perChunk;
  const int end = begin + perChunk < rows ? begin + perChunk : rows;
  const int c = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x) * kPack;
  if (c >= columns) return;
  const int width = c + kPack <= columns ? kPack : columns - c;
  Floats sum{};
  for (int row = begin; row < end; ++row) {
    const size_t at = static_cast<size_t>(row) * columns + c;
    const float r = in ? inverseRms[row] : 1.0f;
    for (int k = 0; k < width; ++k) sum.values[k] += toFloat(gradient[at + k]) * (in ? toFloat(in[at + k]) * r : 1.0f);
  }
  for (int k = 0; k < width; ++k) partial[static_cast<size_t>(blockIdx.x) * columns + c + k] = sum.values[k];
}

__global__ void columnFinish(const float* partial, float* out, int chunks, int columns) {
  const size_t begin = firstElement();
  const size_t end = begin + kPack < static_cast<size_t>(columns) ? begin + kPack : static_cast<size_t>(columns);
  for (size_t c = begin; c < end; ++c) {
    float total = 0.0f;
    for (int chunk = 0; chunk < chunks; ++chunk) total += partial[static_cast<size_t>(chunk) * columns + c];
    out[c] = total;
  }
}

inline constexpr int kSumThreads = 128;

// out[0] = factor * sum of in; one block
__global__ void sum(const float* in, float* out, int count, float factor) {
  __shared__ float partial[kSumThreads];
  float own = 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kSumThreads) own += in[i];
  partial[threadIdx.x] = own;
  __syncthreads();
  for (unsigned width = kSumThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) partial[threadIdx.x] += partial[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[0] = partial[0] * factor;
}

// --- causal softmax of square score matrices, in place: row i of a matrix sees the columns 0…i, the rest becomes 0

template <class T>
__global__ void causalSoftmaxForward(T* scores, int rows, int columns) {
  const int row = rowIndex();
  if (row >= rows) return;
  T* x = scores + static_cast<size_t>(row) * columns;
  const int visible = row % columns + 1;
  float largest = -3.4e38f;
  for (int c = lane(); c < visible; c += kLanes) largest = fmaxf(largest, toFloat(x[c]));
  largest = rowMax(largest);
  float total = 0.0f;
  for (int c = lane(); c < visible; c += kLanes) total += expf(toFloat(x[c]) - largest);
  const float inverse = 1.0f / rowSum(total);
  for (int c = lane(); c < columns; c += kLanes)
    x[c] = fromFloat<T>(c < visible ? expf(toFloat(x[c]) - largest) * inverse : 0.0f);
}

// gradient = d softmax / d scores * gradient, in place
template <class T>
__global__ void causalSoftmaxBackward(const T* probabilities, T* gradient, int rows, int columns) {
  const int row = rowIndex();
  if (row >= rows) return;
  const T* p = probabilities + static_cast<size_t>(row) * columns;
  T* g = gradient + static_cast<size_t>(row) * columns;
  const int visible = row % columns + 1;
  float projection = 0.0f;
  for (int c = lane(); c < visible; c += kLanes) projection += toFloat(p[c]) * toFloat(g[c]);
  projection = rowSum(projection);
  for (int c = lane(); c < columns; c += kLanes)
    g[c] = fromFloat<T>(c < visible ? toFloat(p[c]) * (toFloat(g[c]) - projection) : 0.0f);
}

// --- losses

// loss[row] = -log softmax(logits[row])[targets[row]]; logSum[row] is kept for the backward pass
template <class T>
__global__ void crossEntropyForward(const T* logits, const int* targets, float* loss, float* logSum, int rows,
                                    int columns) {
  const int row = rowIndex();
  if (row >= rows) return;
  const T* x = logits + static_cast<size_t>(row) * columns;
  float largest = -3.4e38f;
  for (int c = lane(); c < columns; c += kLanes) largest = fmaxf(largest, toFloat(x[c]));
  largest = rowMax(largest);
  float total = 0.0f;
  for (int c = lane(); c < columns; c += kLanes) total += expf(toFloat(x[c]) - largest);
  total = largest + logf(rowSum(total));
  if (lane() == 0) {
    logSum[row] = total;
    loss[row] = total - toFloat(x[targets[row]]);
  }
}

// logits become the gradient of factor * sum of the rows' losses
template <class T>
__global__ void crossEntropyBackward(T* logits, const int* targets, const float* logSum, float factor, int rows,
                                     int columns) {
  const int row = rowIndex();
  if (row >= rows) return;
  T* x = logits + static_cast<size_t>(row) * columns;
  const int target = targets[row];
  const float shift = logSum[row];
  for (int c = lane(); c < columns; c += kLanes)
    x[c] = fromFloat<T>(factor * (expf(toFloat(x[c]) - shift) - (c == target ? 1.0f : 0.0f)));
}

// loss[i] = (prediction[i] - target[i])^2
template <class T>
__global__ void squaredErrorForward(const T* prediction, const float* target, float* loss, size_t count) {
  const size_t i = firstElement();
  if (i >= count) return;
  Floats error = load(prediction, i, count);
  const Floats wanted = load(target, i, count);
  for (int k = 0; k < kPack; ++k)
    error.values[k] = (error.values[k] - wanted.values[k]) * (error.values[k] - wanted.values[k]);
  store(loss, i, count, error);
}

// gradient = factor * 2 * (prediction - target)
template <class T>
__global__ void squaredErrorBackward(const T* prediction, const float* target, T* gradient, float factor,
                                     size_t count) {
  const size_t i = firstElement();
  if (i >= count) return;
  Floats g = load(prediction, i, count);
  const Floats wanted = load(target, i, count);
  for (int k = 0; k < kPack; ++k) g.values[k] = 2.0f * factor * (g.values[k] - wanted.values[k]);
  store(gradient, i, count, g);
}

}  // namespace plumb::nn::kernels
