// SPDX-License-Identifier: Apache-2.0
// Element-wise reductions over the ranks' data, for every NCCL data type. 8- and 16-bit floating-point values are added
// in fp32 and rounded once, to nearest even, at the end.
#pragma once
#include <nccl.h>

#include <cstddef>
#include <vector>

namespace softnccl {

size_t sizeOf(ncclDataType_t type);
bool validType(ncclDataType_t type);
const char* typeName(ncclDataType_t type);  // "ncclBfloat16", as NCCL's profiler events spell it

struct Operation {
  ncclRedOp_t op = ncclSum;
  bool scaled = false;  // each rank's input is multiplied by its own scalar before the sum (ncclRedOpCreatePreMulSum)
  double scalar = 1;
};

// to[i] = reduction over sources of source[i], in the order of sources (the ranks), so that every rank that reduces the
// same data gets the same bits. to may be one of the sources. ncclAvg divides by `ranks`.
void reduce(const Operation& operation, ncclDataType_t type, const std::vector<const void*>& sources, void* to,
            size_t count, int ranks);

// to[i] = from[i] · scalar, rounded to the type. to may be from.
void scale(double scalar, ncclDataType_t type, const void* from, void* to, size_t count);

}  // namespace softnccl
