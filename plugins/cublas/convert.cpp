// SPDX-License-Identifier: Apache-2.0
#include "plugins/cublas/convert.h"

namespace plumb::cublas {
namespace {

struct TypeInfo {
  abi::DataType type;
  const char* name;
  double bytes;
  bool isComplex;
};
constexpr TypeInfo kTypes[] = {
    {abi::kR32F, "fp32", 4, false},        {abi::kR64F, "fp64", 8, false},
    {abi::kR16F, "fp16", 2, false},        {abi::kR16BF, "bf16", 2, false},
    {abi::kR8I, "int8", 1, false},         {abi::kR8U, "uint8", 1, false},
    {abi::kR32I, "int32", 4, false},       {abi::kR8FE4M3, "fp8", 1, false},
    {abi::kR8FE5M2, "fp8", 1, false},      {abi::kR4FE2M1, "fp4", 0.5, false},
    {abi::kC32F, "complex fp32", 8, true}, {abi::kC64F, "complex fp64", 16, true},
    {abi::kC16F, "complex fp16", 4, true}, {abi::kC16BF, "complex bf16", 4, true},
};

const TypeInfo* find(abi::DataType type) noexcept {
  for (const TypeInfo& info : kTypes) {
    if (info.type == type) {
      return &info;
    }
  }
  return nullptr;
}

}  // namespace

const char* dataTypeName(abi::DataType type) noexcept {
  const TypeInfo* info = find(type);
  return info ? info->name : "?";
}

double dataTypeBytes(abi::DataType type) noexcept {
  const TypeInfo* info = find(type);
  return info ? info->bytes : 0;
}

const char* computeTypeName(abi::ComputeType compute, abi::DataType operands, int mathMode) noexcept {
  switch (compute) {
    case abi::kCompute16F:
    case abi::kCompute16FPedantic:
      return "fp16";
    case abi::kCompute64F:
    case abi::kCompute64FPedantic:
    case abi::kCompute64FEmulated:
      return "fp64";
    case abi::kCompute32I:
    case abi::kCompute32IPedantic:
      return "int8";
    default:
      break;
  }
  if (operands != abi::kR32F && operands != abi::kC32F) {
    switch (operands) {
      case abi::kC16F:
        return "fp16";
      case abi::kC16BF:
        return "bf16";
      case abi::kC64F:
        return "fp64";
      default:
        return dataTypeName(operands);
    }
  }
  switch (compute) {
    case abi::kCompute32FFastTf32:
      return "tf32";
    case abi::kCompute32FFast16F:
      return "fp16";
    case abi::kCompute32FFast16BF:
      return "bf16";
    case abi::kCompute32FPedantic:
      return "fp32";
    default:
      break;
  }
  switch (mathMode & abi::kMathMask) {
    case abi::kMathTf32:
      return "tf32";
    case abi::kMathTensorOp:
      return "fp16";
    default:
      return "fp32";
  }
}

double gemmFlops(const Gemm& gemm) noexcept {
  const TypeInfo* info = find(gemm.typeA);
  const double perMultiplication = info && info->isComplex ? 8 : 2;
  return perMultiplication * static_cast<double>(gemm.m) * static_cast<double>(gemm.n) * static_cast<double>(gemm.k) *
         static_cast<double>(gemm.batch);
}

double gemmBytes(const Gemm& gemm) noexcept {
  const auto m = static_cast<double>(gemm.m);
  const auto n = static_cast<double>(gemm.n);
  const auto k = static_cast<double>(gemm.k);
  const double one =
      m * k * dataTypeBytes(gemm.typeA) + k * n * dataTypeBytes(gemm.typeB) + m * n * dataTypeBytes(gemm.typeC);
  return one * static_cast<double>(gemm.batch);
}

LibraryCallRecord convertGemm(const Gemm& gemm, const Names& names, uint32_t tid, uint64_t externalId, int64_t startNs,
                              int64_t endNs) noexcept {
  LibraryCallRecord out{};
  out.header = makeHeader<LibraryCallRecord>(RecordKind::kLibraryCall, tid);
  out.start_ns = startNs;
  out.end_ns = endNs;
  out.external_id = externalId;
  out.name = names.call;
  out.datatype_a = names.typeA;
  out.datatype_b = names.typeB;
  out.datatype_c = names.typeC;
  out.compute_type = names.compute;
  out.flops = gemmFlops(gemm);
  out.bytes = gemmBytes(gemm);
  out.m = gemm.m;
  out.n = gemm.n;
  out.k = gemm.k;
  out.batch = gemm.batch;
  out.transpose_a = gemm.transposeA != 0;
  out.transpose_b = gemm.transposeB != 0;
  return out;
}

}  // namespace plumb::cublas
