// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

// What the fake library was called with.
struct FakeCublas {
  const char* lastFunction;
  int calls;
  int64_t m, n, k, batch;
  int lda;
  int mathMode;  // what cublasGetMathMode answers
  int mathModeQueries;
  int result;        // what every call returns
  bool callsNested;  // cublasGemmEx calls the function below
  int (*nested)();
};
FakeCublas& fakeCublas();

// cuBLASLt's descriptors: an attribute per slot.
struct FakeLtObject {
  uint64_t attributes[64];
  bool isSet[64];
  int bytes[64];
};
