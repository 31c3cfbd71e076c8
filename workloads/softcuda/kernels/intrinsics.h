// SPDX-License-Identifier: Apache-2.0
// CUDA's device functions for kernels compiled by g++: barriers, warp operations, atomics, and the math and bit
// intrinsics that training kernels use. Included by softcuda_kernel.h only. Semantics are CUDA's; the fast-math
// variants (__expf …) are computed exactly.
#pragma once
#include <time.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "workloads/softcuda/kernels/engine.h"

// --- barriers and fences
inline void __syncthreads() { softcuda::blockBarrier(softcuda::BlockOperation::kBarrier, false); }
inline int __syncthreads_count(int p) { return softcuda::blockBarrier(softcuda::BlockOperation::kCount, p != 0); }
inline int __syncthreads_and(int p) { return softcuda::blockBarrier(softcuda::BlockOperation::kAnd, p != 0); }
inline int __syncthreads_or(int p) { return softcuda::blockBarrier(softcuda::BlockOperation::kOr, p != 0); }
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  softcuda::warpOperation(softcuda::WarpOperation::kBarrier, mask, 0, 0);
}
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() { std::atomic_thread_fence(std::memory_order_acq_rel); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
[[noreturn]] inline void __trap() { softcuda::abortLaunch(cudaErrorLaunchFailure); }

// --- warp shuffles and votes
namespace softcuda {
template <class T>
T shuffle(unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = warpOperation(WarpOperation::kShuffle, mask, bits, source);
  std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
  return value;
}
// The lane that a shuffle reads: target if it lies in the same sub-warp of the given width, else the own lane.
inline int withinSubWarp(int target, int width) {
  const int lane = laneIndex();
  return (target & ~(width - 1)) == (lane & ~(width - 1)) && target >= 0 ? target : lane;
}
}  // namespace softcuda

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return softcuda::shuffle(mask, value, (softcuda::laneIndex() & ~(width - 1)) | (source & (width - 1)));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return softcuda::shuffle(mask, value,
                           softcuda::withinSubWarp(softcuda::laneIndex() - static_cast<int>(delta), width));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return softcuda::shuffle(mask, value,
                           softcuda::withinSubWarp(softcuda::laneIndex() + static_cast<int>(delta), width));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int laneMask, int width = 32) {
  return softcuda::shuffle(mask, value, softcuda::withinSubWarp(softcuda::laneIndex() ^ laneMask, width));
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(
      softcuda::warpOperation(softcuda::WarpOperation::kBallot, mask, predicate != 0 ? 1 : 0, 0));
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }
inline unsigned __activemask() { return softcuda::liveLanes(); }

namespace softcuda {
inline uint64_t reduceWarp(WarpOperation operation, unsigned mask, uint64_t value) {
  return warpOperation(operation, mask, value, 0);
}
}  // namespace softcuda
inline int __reduce_add_sync(unsigned mask, int value) {
  return static_cast<int>(softcuda::reduceWarp(softcuda::WarpOperation::kAdd, mask, static_cast<unsigned>(value)));
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(softcuda::reduceWarp(softcuda::WarpOperation::kAdd, mask, value));
}
inline int __reduce_min_sync(unsigned mask, int value) {
  return static_cast<int>(
      softcuda::reduceWarp(softcuda::WarpOperation::kMinSigned, mask, static_cast<uint64_t>(int64_t{value})));
}
inline int __reduce_max_sync(unsigned mask, int value) {
  return static_cast<int>(
      softcuda::reduceWarp(softcuda::WarpOperation::kMaxSigned, mask, static_cast<uint64_t>(int64_t{value})));
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(softcuda::reduceWarp(softcuda::WarpOperation::kMinUnsigned, mask, value));
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(softcuda::reduceWarp(softcuda::WarpOperation::kMaxUnsigned, mask, value));
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(softcuda::reduceWarp(softcuda::WarpOperation::kAnd, mask, value));
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(softcuda::reduceWarp(softcuda::WarpOperation::kOr, mask, value));
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(softcuda::reduceWarp(softcuda::WarpOperation::kXor, mask, value));
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return static_cast<unsigned>(softcuda::warpOperation(softcuda::WarpOperation::kMatchAny, mask, bits, 0));
}

// --- atomics (relaxed, as CUDA's are)
namespace softcuda {
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

template <class T, class Change>
T atomicUpdate(T* address, Change change) {
  using Bits = BitsOf<T>;
  static_assert(sizeof(T) == sizeof(Bits));
  auto* cell = reinterpret_cast<Bits*>(address);
  Bits seen = __atomic_load_n(cell, __ATOMIC_RELAXED);
  for (;;) {
    T old;
    std::memcpy(static_cast<void*>(&old), &seen, sizeof(T));
    const T next = change(old);
    Bits wanted;
    std::memcpy(&wanted, &next, sizeof(T));
    if (__atomic_compare_exchange_n(cell, &seen, wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
  }
}
}  // namespace softcuda

// Any type with +: int, unsigned, unsigned long long, float, double, __half, __nv_bfloat16.
template <class T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  if constexpr (std::is_integral_v<T>) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  } else {
    return softcuda::atomicUpdate(address, [value](T old) { return static_cast<T>(old + value); });
  }
}
template <class T>
T atomicSub(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return softcuda::atomicUpdate(address, [value](T) { return value; });
}
template <class T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return softcuda::atomicUpdate(address, [value](T old) { return value < old ? value : old; });
}
template <class T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return softcuda::atomicUpdate(address, [value](T old) { return old < value ? value : old; });
}
template <class T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicXor(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return compare;
}
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return softcuda::atomicUpdate(address, [limit](unsigned old) { return old >= limit ? 0u : old + 1; });
}
inline unsigned atomicDec(unsigned* address, unsigned limit) {
  return softcuda::atomicUpdate(address, [limit](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

// --- math
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return std::pow(10.0f, x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __frsqrt_rn(float x) { return 1.0f / std::sqrt(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }

inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a < b ? b : a; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
inline long min(long a, long b) { return a < b ? a : b; }
inline long max(long a, long b) { return a < b ? b : a; }
inline unsigned long min(unsigned long a, unsigned long b) { return a < b ? a : b; }
inline unsigned long max(unsigned long a, unsigned long b) { return a < b ? b : a; }
inline long long min(long long a, long long b) { return a < b ? a : b; }
inline long long max(long long a, long long b) { return a < b ? b : a; }
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }

// --- bits and memory
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((uint64_t{a} * b) >> 32); }
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= ((x >> bit) & 1u) << (31 - bit);
  return reversed;
}
template <class T>
T __ldg(const T* address) {
  return *address;
}
inline long long clock64() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}
