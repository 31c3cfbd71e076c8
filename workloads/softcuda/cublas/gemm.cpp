// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cublas/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <vector>

#include "workloads/softcuda/cublas/parallel.h"
#include "workloads/softcuda/numerics/convert.h"

namespace softcublas {
namespace {

// Blocks of operands that are widened before OpenBLAS sees them: they stay in the cache between the two.
constexpr int64_t kBlockRows = 1024;
constexpr int64_t kBlockColumns = 1024;
constexpr int64_t kBlockDepth = 512;
// Below this many multiply-adds a second thread costs more than it gives.
constexpr double kWorthAThread = 500'000;

struct FreeDeleter {
  void operator()(void* p) const { std::free(p); }
};

// A thread's own work space; grows to the largest block it has seen (at most 8 MiB each).
class Scratch {
 public:
  float* get(int64_t count) {
    if (count > m_count) {
      const size_t bytes = (static_cast<size_t>(count) * sizeof(float) + 63) / 64 * 64;
      m_memory.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
      m_count = count;
    }
    return m_memory.get();
  }

 private:
  std::unique_ptr<float, FreeDeleter> m_memory;
  int64_t m_count = 0;
};

thread_local Scratch t_a, t_b, t_c;

size_t elementSize(Element type) { return type == Element::kFp64 ? 8 : type == Element::kFp32 ? 4 : 2; }

const char* at(const void* base, Element type, int64_t index) {
  return static_cast<const char*>(base) + index * static_cast<int64_t>(elementSize(type));
}
char* at(void* base, Element type, int64_t index) {
  return static_cast<char*>(base) + index * static_cast<int64_t>(elementSize(type));
}

void widen(const void* from, Element type, float* to, int64_t count) {
  const softcuda::Conversions& convert = softcuda::conversions();
  const auto n = static_cast<size_t>(count);
  switch (type) {
    case Element::kFp16:
      convert.fp16_to_fp32(static_cast<const uint16_t*>(from), to, n);
      break;
    case Element::kBf16:
      convert.bf16_to_fp32(static_cast<const uint16_t*>(from), to, n);
      break;
    default:
      std::copy_n(static_cast<const float*>(from), n, to);
      break;
  }
}

void narrow(const float* from, Element type, void* to, int64_t count) {
  const softcuda::Conversions& convert = softcuda::conversions();
  const auto n = static_cast<size_t>(count);
  switch (type) {
    case Element::kFp16:
      convert.fp32_to_fp16(from, static_cast<uint16_t*>(to), n);
      break;
    case Element::kBf16:
      convert.fp32_to_bf16(from, static_cast<uint16_t*>(to), n);
      break;
    default:
      std::copy_n(from, n, static_cast<float*>(to));
      break;
  }
}

// fp32 operands as the multiplier sees them.
void roundOperand(const float* from, Compute compute, float* to, int64_t count) {
  const softcuda::Conversions& convert = softcuda::conversions();
  const auto n = static_cast<size_t>(count);
  if (compute == Compute::kTf32) {
    convert.fp32_to_tf32(from, to, n);
    return;
  }
  uint16_t narrowed[256];
  for (size_t i = 0; i < n; i += 256) {
    const size_t part = std::min<size_t>(256, n - i);
    if (compute == Compute::kFp16) {
      convert.fp32_to_fp16(from + i, narrowed, part);
      convert.fp16_to_fp32(narrowed, to + i, part);
    } else {
      convert.fp32_to_bf16(from + i, narrowed, part);
      convert.bf16_to_fp32(narrowed, to + i, part);
    }
  }
}

// Copies a rows × columns block (column-major, starting at element `first`) into dense fp32.
void loadOperand(const void* base, Element type, Compute compute, int64_t first, int64_t ld, int64_t rows,
                 int64_t columns, float* to) {
  if (ld == rows) {
    rows *= columns;
    columns = 1;
  }
  for (int64_t j = 0; j < columns; ++j, to += rows) {
    const void* from = at(base, type, first + j * ld);
    if (type == Element::kFp32 && compute != Compute::kFp32) {
      roundOperand(static_cast<const float*>(from), compute, to, rows);
    } else {
      widen(from, type, to, rows);
    }
  }
}

// e^x to fp32 accuracy for -87 <= x <= 88, in arithmetic that the compiler can vectorise.
inline float exponential(float x) {
  const float scaled = x * 1.44269504f;
  const auto power = static_cast<int32_t>(scaled + (scaled < 0 ? -0.5f : 0.5f));
  const auto n = static_cast<float>(power);
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;  // ln 2 in two parts
  float sum = 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = sum * r + 1.0f;
  sum = sum * r + 1.0f;
  return sum * std::bit_cast<float>((power + 127) << 23);
}

// GELU in the tanh form, written as x · sigmoid(2u): no cancellation for negative x.
void applyGelu(float* values, int64_t count) {
  constexpr float kSqrt8OverPi = 1.5957691216f;
  for (int64_t i = 0; i < count; ++i) {
    const float x = values[i];
    float u = -kSqrt8OverPi * (x + 0.044715f * x * x * x);
    u = u < 88.0f ? u : 88.0f;
    u = u > -87.0f ? u : -87.0f;
    values[i] = x / (1.0f + exponential(u));
  }
}

void applyEpilogue(const Gemm& gemm, const void* bias, float* values, int64_t ld, int64_t m0, int64_t rows,
                   int64_t columns) {
  std::vector<float> bias_values;
  if (bias) {
    bias_values.resize(static_cast<size_t>(rows));
    widen(at(bias, gemm.bias_type, m0), gemm.bias_type, bias_values.data(), rows);
  }
  for (int64_t j = 0; j < columns; ++j) {
    float* column = values + j * ld;
    if (bias) {
      for (int64_t i = 0; i < rows; ++i) {
        column[i] += bias_values[static_cast<size_t>(i)];
      }
    }
    if (gemm.activation == Activation::kRelu) {
      for (int64_t i = 0; i < rows; ++i) {
        column[i] = column[i] < 0 ? 0 : column[i];  // NaN passes
      }
    } else if (gemm.activation == Activation::kGelu) {
      applyGelu(column, rows);
    }
  }
}

CBLAS_TRANSPOSE blasTranspose(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

// One matrix product with its pointers resolved.
struct Product {
  const Gemm& gemm;
  const void* a;
  const void* b;
  const void* c;
  void* d;
  const void* bias;
  double alpha;
  double beta;
};

void runFp64(const Product& p, int64_t m0, int64_t rows, int64_t n0, int64_t columns) {
  const Gemm& g = p.gemm;
  auto* d = static_cast<double*>(p.d) + m0 + n0 * g.ldd;
  const auto* c = static_cast<const double*>(p.c) + (p.c ? m0 + n0 * g.ldc : 0);
  if (p.beta != 0 && c != d) {
    for (int64_t j = 0; j < columns; ++j) {
      std::copy_n(c + j * g.ldc, rows, d + j * g.ldd);
    }
  }
  cblas_dgemm(CblasColMajor, blasTranspose(g.transpose_a), blasTranspose(g.transpose_b), static_cast<int>(rows),
              static_cast<int>(columns), static_cast<int>(g.k), p.alpha,
              static_cast<const double*>(p.a) + (g.transpose_a ? m0 * g.lda : m0), static_cast<int>(g.lda),
              static_cast<const double*>(p.b) + (g.transpose_b ? n0 : n0 * g.ldb), static_cast<int>(g.ldb), p.beta, d,
              static_cast<int>(g.ldd));
}

// op(A) · op(B) for a block of at most kBlockRows × kBlockColumns (any size if nothing has to be converted), added to
// beta · values.
void multiply(const Product& p, int64_t m0, int64_t rows, int64_t n0, int64_t columns, float beta, float* values,
              int64_t ld) {
  const Gemm& g = p.gemm;
  const auto alpha = static_cast<float>(p.alpha);
  const bool direct = g.ab_type == Element::kFp32 && g.compute == Compute::kFp32;
  if (direct || g.k == 0 || p.alpha == 0) {
    const int64_t k = p.alpha == 0 ? 0 : g.k;
    cblas_sgemm(CblasColMajor, blasTranspose(g.transpose_a), blasTranspose(g.transpose_b), static_cast<int>(rows),
                static_cast<int>(columns), static_cast<int>(k), alpha,
                static_cast<const float*>(p.a) + (direct ? (g.transpose_a ? m0 * g.lda : m0) : 0),
                static_cast<int>(g.lda),
                static_cast<const float*>(p.b) + (direct ? (g.transpose_b ? n0 : n0 * g.ldb) : 0),
                static_cast<int>(g.ldb), beta, values, static_cast<int>(ld));
    return;
  }
  for (int64_t k0 = 0; k0 < g.k; k0 += kBlockDepth) {
    const int64_t depth = std::min(kBlockDepth, g.k - k0);
    float* a = t_a.get(rows * depth);
    float* b = t_b.get(columns * depth);
    const int64_t a_rows = g.transpose_a ? depth : rows;
    const int64_t b_rows = g.transpose_b ? columns : depth;
    loadOperand(p.a, g.ab_type, g.compute, g.transpose_a ? k0 + m0 * g.lda : m0 + k0 * g.lda, g.lda, a_rows,
                g.transpose_a ? rows : depth, a);
    loadOperand(p.b, g.ab_type, g.compute, g.transpose_b ? n0 + k0 * g.ldb : k0 + n0 * g.ldb, g.ldb, b_rows,
                g.transpose_b ? depth : columns, b);
    cblas_sgemm(CblasColMajor, blasTranspose(g.transpose_a), blasTranspose(g.transpose_b), static_cast<int>(rows),
                static_cast<int>(columns), static_cast<int>(depth), alpha, a, static_cast<int>(a_rows), b,
                static_cast<int>(b_rows), k0 == 0 ? beta : 1.0f, values, static_cast<int>(ld));
  }
}

void runBlock(const Product& p, int64_t m0, int64_t rows, int64_t n0, int64_t columns) {
  const Gemm& g = p.gemm;
  const bool in_place = g.c_type == Element::kFp32;
  float* values = in_place ? static_cast<float*>(p.d) + m0 + n0 * g.ldd : t_c.get(rows * columns);
  const int64_t ld = in_place ? g.ldd : rows;
  if (p.beta != 0 && !(in_place && p.c == p.d && g.ldc == g.ldd)) {
    for (int64_t j = 0; j < columns; ++j) {
      widen(at(p.c, g.c_type, m0 + (n0 + j) * g.ldc), g.c_type, values + j * ld, rows);
    }
  }
  multiply(p, m0, rows, n0, columns, static_cast<float>(p.beta), values, ld);
  if (p.bias || g.activation != Activation::kNone) {
    applyEpilogue(g, p.bias, values, ld, m0, rows, columns);
  }
  if (!in_place) {
    for (int64_t j = 0; j < columns; ++j) {
      narrow(values + j * ld, g.c_type, at(p.d, g.c_type, m0 + (n0 + j) * g.ldd), rows);
    }
  }
}

void runPart(const Product& p, int64_t m0, int64_t rows, int64_t n0, int64_t columns) {
  const Gemm& g = p.gemm;
  if (g.compute == Compute::kFp64) {
    runFp64(p, m0, rows, n0, columns);
    return;
  }
  const bool direct = g.ab_type == Element::kFp32 && g.compute == Compute::kFp32 && g.c_type == Element::kFp32 &&
                      !p.bias && g.activation == Activation::kNone;
  const int64_t block_rows = direct ? rows : kBlockRows;
  const int64_t block_columns = direct ? columns : kBlockColumns;
  for (int64_t n = 0; n < columns; n += block_columns) {
    for (int64_t m = 0; m < rows; m += block_rows) {
      runBlock(p, m0 + m, std::min(block_rows, rows - m), n0 + n, std::min(block_columns, columns - n));
    }
  }
}

double readScalar(const void* device, Element type, double value) {
  if (!device) {
    return value;
  }
  if (type == Element::kFp64) {
    return *static_cast<const double*>(device);
  }
  float widened = 0;
  widen(device, type, &widened, 1);
  return static_cast<double>(widened);
}

Product productOf(const Gemm& g, int64_t index, double alpha, double beta) {
  Product p{g, g.a, g.b, g.c, g.d, nullptr, alpha, beta};
  if (g.pointer_arrays) {
    p.a = static_cast<const void* const*>(g.a)[index];
    p.b = static_cast<const void* const*>(g.b)[index];
    p.c = static_cast<const void* const*>(g.c)[index];
    p.d = static_cast<void* const*>(g.d)[index];
  } else {
    p.a = at(g.a, g.ab_type, index * g.stride_a);
    p.b = at(g.b, g.ab_type, index * g.stride_b);
    p.c = g.c ? at(g.c, g.c_type, index * g.stride_c) : nullptr;
    p.d = at(g.d, g.c_type, index * g.stride_d);
  }
  if (g.bias) {
    p.bias = at(g.bias, g.bias_type, index * g.bias_stride);
  }
  return p;
}

}  // namespace

void runGemm(const Gemm& gemm, int threads) {
  if (gemm.m <= 0 || gemm.n <= 0 || gemm.batch <= 0) {
    return;
  }
  const double alpha = readScalar(gemm.alpha_device, gemm.scale_type, gemm.alpha);
  const double beta = readScalar(gemm.beta_device, gemm.scale_type, gemm.beta);
  const double work = static_cast<double>(gemm.m) * static_cast<double>(gemm.n) *
                      static_cast<double>(std::max<int64_t>(gemm.k, 1)) * static_cast<double>(gemm.batch);
  threads = std::max(1, std::min(threads, static_cast<int>(std::min(work / kWorthAThread, 1e6))));
  // Whole matrices first; only few large ones are cut, along their longer side, at multiples of a SIMD-friendly size.
  const bool cut_columns = gemm.n >= gemm.m;
  const int64_t side = cut_columns ? gemm.n : gemm.m;
  const int64_t wanted_parts = gemm.batch >= threads ? 1 : (threads + gemm.batch - 1) / gemm.batch;
  const int64_t step = std::max<int64_t>(16, (side + wanted_parts - 1) / wanted_parts + 15) / 16 * 16;
  const int64_t parts = (side + step - 1) / step;
  const int64_t tasks = parts * gemm.batch;
  // Many small matrices: one task takes several.
  const int64_t chunk = std::max<int64_t>(1, tasks / (4 * static_cast<int64_t>(threads)));
  parallelFor(static_cast<int>((tasks + chunk - 1) / chunk), threads, [&](int task) {
    for (int64_t t = task * chunk; t < std::min(tasks, (task + 1) * chunk); ++t) {
      const Product product = productOf(gemm, t / parts, alpha, beta);
      const int64_t first = t % parts * step;
      const int64_t length = std::min(step, side - first);
      if (cut_columns) {
        runPart(product, 0, gemm.m, first, length);
      } else {
        runPart(product, first, length, 0, gemm.n);
      }
    }
  });
}

}  // namespace softcublas
