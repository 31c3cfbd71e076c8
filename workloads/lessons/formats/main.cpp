// SPDX-License-Identifier: Apache-2.0
// Number formats: what fp16 and bf16 can hold, what rounding does to long sums, and what loss scaling saves.
#include <fmt/format.h>

#include <cmath>

#include "workloads/lessons/common/lesson.h"
#include "workloads/lessons/formats/kernels.h"
#include "workloads/nn/memory.h"
#include "workloads/nn/nvtx.h"
#include "workloads/nn/stream.h"

namespace plumb::lessons {
namespace {

constexpr int kGradients = 1'000'000;

class Experiment {
 public:
  std::vector<Rounded> round(const std::vector<float>& values) {
    const nn::Range range("formats");
    nn::Buffer in(m_ledger, m_stream, nn::Category::kInput, "values", nn::Dtype::kFloat32, values.size());
    nn::Buffer out(m_ledger, m_stream, nn::Category::kActivation, "rounded", nn::Dtype::kFloat32, 3 * values.size());
    nn::check(
        cudaMemcpyAsync(in.as<float>(), values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice, m_stream),
        "copying the values");
    roundThroughFormats(m_stream, in.as<float>(), out.as<Rounded>(), static_cast<int>(values.size()));
    return read<Rounded>(out, values.size());
  }

  Rounded sum(float increment, int times) {
    const nn::Range range("accumulation");
    nn::Buffer out(m_ledger, m_stream, nn::Category::kActivation, "sums", nn::Dtype::kFloat32, 3);
    accumulate(m_stream, increment, times, out.as<Rounded>());
    return read<Rounded>(out, 1).front();
  }

  struct Lost {
    double zeroShare;
    unsigned int infinities;
  };
  Lost lostGradients(float scale) {
    const nn::Range range("loss scale");
    nn::Buffer counts(m_ledger, m_stream, nn::Category::kWorkspace, "counts", nn::Dtype::kInt32, 2);
    nn::check(cudaMemsetAsync(counts.as<int>(), 0, 2 * sizeof(int), m_stream), "clearing the counts");
    countLostGradients(m_stream, kGradients, scale, counts.as<unsigned int>());
    const auto found = read<unsigned int>(counts, 2);
    return {static_cast<double>(found[0]) / kGradients, found[1]};
  }

 private:
  template <class T>
  std::vector<T> read(const nn::Buffer& from, size_t count) {
    std::vector<T> values(count);
    nn::check(cudaMemcpyAsync(values.data(), from.as<T>(), count * sizeof(T), cudaMemcpyDeviceToHost, m_stream),
              "copying the result");
    m_stream.synchronize();
    return values;
  }

  nn::Stream m_stream;
  nn::MemoryLedger m_ledger;
};

std::string digits(float value) { return fmt::format("{:.6g}", value); }

void teach(Checks& checks) {
  Experiment experiment;
  Table formats({"value", "fp32", "fp16", "bf16"});
  const std::vector<float> values = {70000.0f, 1e-8f, 1001.0f, 65504.0f, 6.1e-5f, 0.1f};
  const std::vector<Rounded> rounded = experiment.round(values);
  for (size_t i = 0; i < values.size(); ++i)
    formats.add({digits(values[i]), digits(rounded[i].fp32), digits(rounded[i].fp16), digits(rounded[i].bf16)});
  const Rounded sums = experiment.sum(0.01f, 10000);
  formats.add({"0.01 added 10,000 times", digits(sums.fp32), digits(sums.fp16), digits(sums.bf16)});
  formats.print();
  checks.expect(std::isinf(rounded[0].fp16), "70000 is infinite in fp16", digits(rounded[0].fp16));
  checks.expect(rounded[0].bf16 == 70144.0f, "70000 is 70144 in bf16", digits(rounded[0].bf16));
  checks.expect(rounded[1].fp16 == 0.0f, "1e-8 is zero in fp16", digits(rounded[1].fp16));
  checks.expect(digits(rounded[1].bf16) == "1.00117e-08", "1e-8 is 1.00117e-08 in bf16", digits(rounded[1].bf16));
  checks.expect(rounded[2].fp16 == 1001.0f && rounded[2].bf16 == 1000.0f, "1001 stays in fp16 and is 1000 in bf16");
  checks.expect(sums.fp16 == 32.0f && sums.bf16 == 4.0f && digits(sums.fp32) == "100.003",
                "0.01 added 10,000 times ends at 32 in fp16, 4 in bf16, 100.003 in fp32");

  fmt::print("\n{} gradients, spread evenly over the decades 1e-10 … 1e-2, in fp16:\n", kGradients);
  Table scales({"loss scale", "zero", "infinite"});
  for (const float scale : {1.0f, 1024.0f, 65536.0f, 16777216.0f}) {
    const Experiment::Lost lost = experiment.lostGradients(scale);
    scales.add({fmt::format("{:.0f}", scale), fmt::format("{:.1f} %", 100.0 * lost.zeroShare),
                std::to_string(lost.infinities)});
    if (scale == 1.0f)
      checks.expect(std::abs(lost.zeroShare - 0.31) < 0.01, "about 31 % are lost without scaling",
                    fmt::format("{:.1f} %", 100.0 * lost.zeroShare));
    if (scale == 1024.0f) checks.expect(lost.zeroShare == 0.0 && lost.infinities == 0, "none are lost at 1024");
    if (scale == 16777216.0f) checks.expect(lost.infinities > 0, "2^24 overflows", std::to_string(lost.infinities));
  }
  scales.print();
}

}  // namespace
}  // namespace plumb::lessons

int main(int argc, char** argv) {
  return plumb::lessons::runLesson(
      argc, argv,
      {"formats",
       "Number formats: what fp16 and bf16 hold, what rounding does to sums, what loss scaling saves.",
       {},
       plumb::lessons::teach});
}
