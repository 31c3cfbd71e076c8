// SPDX-License-Identifier: Apache-2.0
// FLOPs and bytes of a framework's operator from the dimensions of its arguments.
//   matrix products (aten::mm, addmm, bmm, baddbmm, addmv, linear, _scaled_mm): 2 m n k per product
//   convolutions and their gradients: convolution_operators.h
//   fused attention: attention_operators.h
//   operators that memory bounds: memory_operators.h, lookup_operators.h (index_select, scatter, embeddings …),
//   pooling_operators.h, fbgemm_operators.h; on lists of tensors (cat, foreach, fused optimizers): list_operators.h
// Bytes: each operand read once and the result written once.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace plumb {

struct OperatorWork {
  double flops = 0, bytes = 0;
  std::string precision;          // "fp32" "bf16" …; "": integers, which have no FLOPs
  bool precisionAssumed = false;  // float operands may have used tf32
  double written = 0;             // of the bytes; 0 of products and fused optimizers, whose results are not for a chain
};

// Whether there is a formula for an operator of this name.
[[nodiscard]] bool hasWorkFormula(std::string_view name);

// The texts of an operator_argument_set: JSON arrays with an element per argument. None when they do not say enough,
// and for operators on lists, whose types only their kernels tell.
[[nodiscard]] std::optional<OperatorWork> workOfOperator(std::string_view name, std::string_view dims,
                                                         std::string_view types, std::string_view values,
                                                         std::string_view strides = {});

// Why workOfOperator() is none, for the user.
[[nodiscard]] std::string whyWorkIsUnknown(std::string_view name, std::string_view dims, std::string_view types,
                                           std::string_view values);

}  // namespace plumb
