// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nccl_names.h"

#include <algorithm>
#include <cctype>

namespace plumb::import {
namespace {

// Lower case, letters and digits only.
std::string folded(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) result += static_cast<char>(std::tolower(letter));
  }
  return result;
}

struct Operation {
  std::string_view mark, name;
};
// The first whose mark the name contains; those that contain others come first.
constexpr Operation kOperations[] = {
    {"reducescatter", "ReduceScatter"},
    {"allgather", "AllGather"},
    {"allreduce", "AllReduce"},
    {"alltoall", "AllToAll"},
    {"sendrecv", "SendRecv"},
    {"broadcast", "Broadcast"},
    {"bcast", "Broadcast"},
    {"barrier", "AllReduce"},
    {"scatter", "Scatter"},
    {"gather", "Gather"},
    {"reduce", "Reduce"},
    {"send", "Send"},
    {"recv", "Recv"},
};

struct Datatype {
  std::string_view folded;
  const char* name;
  int64_t bytes;
};
constexpr Datatype kDatatypes[] = {
    {"float", "ncclFloat32", 4},
    {"float32", "ncclFloat32", 4},
    {"fp32", "ncclFloat32", 4},
    {"half", "ncclFloat16", 2},
    {"float16", "ncclFloat16", 2},
    {"fp16", "ncclFloat16", 2},
    {"bfloat16", "ncclBfloat16", 2},
    {"bf16", "ncclBfloat16", 2},
    {"double", "ncclFloat64", 8},
    {"float64", "ncclFloat64", 8},
    {"long", "ncclInt64", 8},
    {"int64", "ncclInt64", 8},
    {"uint64", "ncclUint64", 8},
    {"int", "ncclInt32", 4},
    {"int32", "ncclInt32", 4},
    {"uint32", "ncclUint32", 4},
    {"byte", "ncclUint8", 1},
    {"uint8", "ncclUint8", 1},
    {"bool", "ncclUint8", 1},
    {"char", "ncclInt8", 1},
    {"int8", "ncclInt8", 1},
    {"float8e4m3fn", "ncclFloat8e4m3", 1},
    {"float8e4m3", "ncclFloat8e4m3", 1},
    {"fp8e4m3", "ncclFloat8e4m3", 1},
    {"f8e4m3", "ncclFloat8e4m3", 1},
    {"float8e5m2", "ncclFloat8e5m2", 1},
    {"fp8e5m2", "ncclFloat8e5m2", 1},
    {"f8e5m2", "ncclFloat8e5m2", 1},
};

}  // namespace

std::string_view ncclOperation(std::string_view name) {
  const std::string text = folded(name);
  for (const Operation& operation : kOperations) {
    if (text.find(operation.mark) != std::string::npos) return operation.name;
  }
  return {};
}

NcclDatatype ncclDatatype(std::string_view name) {
  std::string text = folded(name);
  if (text.starts_with("nccl")) text.erase(0, 4);
  for (const Datatype& type : kDatatypes) {
    if (type.folded == text) return {type.name, type.bytes};
  }
  return {std::string(name), 0};
}

int64_t ncclBytes(std::string_view operation, int64_t elements, int64_t elementBytes, int64_t ranks) {
  int64_t bytes = 0;
  // Frameworks name the whole input of a reduce-scatter and of an all-to-all.
  const bool isPart = operation == "AllGather" || operation == "Gather" || operation == "Scatter";
  const int64_t parts = isPart ? std::max<int64_t>(ranks, 1) : 1;
  if (__builtin_mul_overflow(elements, elementBytes, &bytes) || __builtin_mul_overflow(bytes, parts, &bytes)) return 0;
  return bytes;
}

}  // namespace plumb::import
