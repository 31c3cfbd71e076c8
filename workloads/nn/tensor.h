// SPDX-License-Identifier: Apache-2.0
// A typed view of device memory; owns nothing.
#pragma once
#include <cstddef>

namespace plumb::nn {

enum class Dtype { kFloat32, kFloat16, kBfloat16, kInt32 };

constexpr size_t sizeOf(Dtype dtype) { return dtype == Dtype::kFloat16 || dtype == Dtype::kBfloat16 ? 2 : 4; }

struct Tensor {
  void* data = nullptr;
  Dtype dtype = Dtype::kFloat32;
  size_t count = 0;  // elements

  size_t bytes() const { return count * sizeOf(dtype); }
  // Elements [offset, offset + length).
  Tensor slice(size_t offset, size_t length) const {
    return {static_cast<char*>(data) + offset * sizeOf(dtype), dtype, length};
  }
  float* floats() const { return static_cast<float*>(data); }
  int* ints() const { return static_cast<int*>(data); }
};

}  // namespace plumb::nn
