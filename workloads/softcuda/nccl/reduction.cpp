// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/nccl/reduction.h"

#include <cuda_fp8.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "workloads/softcuda/numerics/convert.h"

namespace softnccl {
namespace {

constexpr size_t kBlock = 2048;  // elements; stays in the first-level cache

struct TypeInfo {
  ncclDataType_t type;
  size_t size;
  const char* name;
};
constexpr TypeInfo kTypes[] = {
    {ncclInt8, 1, "ncclInt8"},         {ncclUint8, 1, "ncclUint8"},           {ncclInt32, 4, "ncclInt32"},
    {ncclUint32, 4, "ncclUint32"},     {ncclInt64, 8, "ncclInt64"},           {ncclUint64, 8, "ncclUint64"},
    {ncclFloat16, 2, "ncclFloat16"},   {ncclFloat32, 4, "ncclFloat32"},       {ncclFloat64, 8, "ncclFloat64"},
    {ncclBfloat16, 2, "ncclBfloat16"}, {ncclFloat8e4m3, 1, "ncclFloat8e4m3"}, {ncclFloat8e5m2, 1, "ncclFloat8e5m2"},
};

const TypeInfo* find(ncclDataType_t type) {
  for (const TypeInfo& info : kTypes) {
    if (info.type == type) {
      return &info;
    }
  }
  return nullptr;
}

// How a type is stored and in what it is added. load may return the data itself.
template <typename T>
struct Native {
  using Stored = T;
  using Sum = T;
  static const Sum* load(const Stored* from, Sum*, size_t) { return from; }
  static void store(const Sum* from, Stored* to, size_t count) { std::copy_n(from, count, to); }
};
struct Fp16 {
  using Stored = uint16_t;
  using Sum = float;
  static const Sum* load(const Stored* from, Sum* work, size_t count) {
    softcuda::conversions().fp16_to_fp32(from, work, count);
    return work;
  }
  static void store(const Sum* from, Stored* to, size_t count) {
    softcuda::conversions().fp32_to_fp16(from, to, count);
  }
};
struct Bf16 {
  using Stored = uint16_t;
  using Sum = float;
  static const Sum* load(const Stored* from, Sum* work, size_t count) {
    softcuda::conversions().bf16_to_fp32(from, work, count);
    return work;
  }
  static void store(const Sum* from, Stored* to, size_t count) {
    softcuda::conversions().fp32_to_bf16(from, to, count);
  }
};
template <typename T>
struct Fp8 {
  using Stored = T;
  using Sum = float;
  static const Sum* load(const Stored* from, Sum* work, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      work[i] = static_cast<float>(from[i]);
    }
    return work;
  }
  static void store(const Sum* from, Stored* to, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      to[i] = T(from[i]);
    }
  }
};

// Integer sums wrap, as on the device.
template <typename T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

// A NaN gives way to a number in max and min, as with fmaxf.
template <typename T>
void combine(ncclRedOp_t op, T* total, const T* value, size_t count) {
  switch (op) {
    case ncclProd:
      for (size_t i = 0; i < count; ++i) total[i] = multiply(total[i], value[i]);
      break;
    case ncclMax:
      for (size_t i = 0; i < count; ++i) total[i] = total[i] < value[i] || total[i] != total[i] ? value[i] : total[i];
      break;
    case ncclMin:
      for (size_t i = 0; i < count; ++i) total[i] = value[i] < total[i] || total[i] != total[i] ? value[i] : total[i];
      break;
    default:
      for (size_t i = 0; i < count; ++i) total[i] = add(total[i], value[i]);
      break;
  }
}

template <typename Format>
void reduceAs(const Operation& operation, const std::vector<const void*>& sources, void* to, size_t count, int ranks) {
  using Stored = typename Format::Stored;
  using Sum = typename Format::Sum;
  alignas(64) Sum total[kBlock];
  alignas(64) Sum work[kBlock];
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t part = std::min(kBlock, count - first);
    for (size_t s = 0; s < sources.size(); ++s) {
      const Sum* value = Format::load(static_cast<const Stored*>(sources[s]) + first, s == 0 ? total : work, part);
      if (s != 0) {
        combine(operation.op, total, value, part);
      } else if (value != total) {
        std::copy_n(value, part, total);
      }
    }
    if (operation.op == ncclAvg) {
      for (size_t i = 0; i < part; ++i) {
        total[i] = static_cast<Sum>(total[i] / static_cast<Sum>(ranks));
      }
    }
    Format::store(total, static_cast<Stored*>(to) + first, part);
  }
}

template <typename Format>
void scaleAs(double scalar, const void* from, void* to, size_t count) {
  using Stored = typename Format::Stored;
  using Sum = typename Format::Sum;
  alignas(64) Sum work[kBlock];
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t part = std::min(kBlock, count - first);
    const Sum* value = Format::load(static_cast<const Stored*>(from) + first, work, part);
    for (size_t i = 0; i < part; ++i) {
      work[i] = multiply(value[i], static_cast<Sum>(scalar));
    }
    Format::store(work, static_cast<Stored*>(to) + first, part);
  }
}

// Calls function with the format of the type.
template <typename Function>
void dispatch(ncclDataType_t type, Function function) {
  switch (type) {
    case ncclInt8:
      function(Native<int8_t>{});
      break;
    case ncclUint8:
      function(Native<uint8_t>{});
      break;
    case ncclInt32:
      function(Native<int32_t>{});
      break;
    case ncclUint32:
      function(Native<uint32_t>{});
      break;
    case ncclInt64:
      function(Native<int64_t>{});
      break;
    case ncclUint64:
      function(Native<uint64_t>{});
      break;
    case ncclFloat16:
      function(Fp16{});
      break;
    case ncclFloat32:
      function(Native<float>{});
      break;
    case ncclFloat64:
      function(Native<double>{});
      break;
    case ncclBfloat16:
      function(Bf16{});
      break;
    case ncclFloat8e4m3:
      function(Fp8<__nv_fp8_e4m3>{});
      break;
    case ncclFloat8e5m2:
      function(Fp8<__nv_fp8_e5m2>{});
      break;
    default:
      break;
  }
}

}  // namespace

size_t sizeOf(ncclDataType_t type) {
  const TypeInfo* const info = find(type);
  return info ? info->size : 0;
}

bool validType(ncclDataType_t type) { return find(type) != nullptr; }

const char* typeName(ncclDataType_t type) {
  const TypeInfo* const info = find(type);
  return info ? info->name : "Unknown";
}

void reduce(const Operation& operation, ncclDataType_t type, const std::vector<const void*>& sources, void* to,
            size_t count, int ranks) {
  dispatch(type, [&](auto format) { reduceAs<decltype(format)>(operation, sources, to, count, ranks); });
}

void scale(double scalar, ncclDataType_t type, const void* from, void* to, size_t count) {
  dispatch(type, [&](auto format) { scaleAs<decltype(format)>(scalar, from, to, count); });
}

}  // namespace softnccl
