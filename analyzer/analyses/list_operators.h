// SPDX-License-Identifier: Apache-2.0
// Operators on lists of tensors: cat, torch's foreach operators and fused optimizers. Of a list the shapes are recorded
// (by newer versions of torch, of up to 30 tensors), but not the types: these are a template argument of the kernels,
// in their names. Bytes: each list that is read once (of foreach all but the target of a copy and what is set to zero;
// of optimizers parameters, gradients and states), and what is written: the result or the first list; of optimizers the
// parameters and states (gradients that are scaled back too are left out). FLOPs: one per element of the first list
// (addcmul, addcdiv and lerp three, norms two, copies none); of optimizers the operations of their formulas without
// weight decay: Adam 13, SGD 2 (with momentum 5), Adagrad 7.
#pragma once
#include <optional>
#include <string_view>

#include "analyzer/analyses/operator_work.h"

namespace plumb {

class OperatorArguments;

// Of a kernel's template argument.
struct KernelElement {
  double bytes = 0;
  double sourceBytes = 0;      // of what is read: another type where lists are copied
  std::string_view precision;  // "fp32" …; "": integers, and what is only copied
};
// "…CatArrayBatchedCopy<…OpaqueType<2u>, …>", "…multi_tensor_apply_kernel<…, …AddFunctor<float, …>, …>"
[[nodiscard]] std::optional<KernelElement> listElementOf(std::string_view kernelName);

struct ListWork {
  double flops = 0, read = 0, written = 0;  // read and written: elements
  bool isFused = false;                     // an optimizer: what it writes is not for the next kernel

  [[nodiscard]] OperatorWork of(const KernelElement& element) const;
};

[[nodiscard]] bool isListOperator(std::string_view name);
[[nodiscard]] std::optional<ListWork> workOfListOperator(std::string_view name, const OperatorArguments& arguments);

}  // namespace plumb
