// SPDX-License-Identifier: Apache-2.0
#include "workloads/amp/trainer.h"

#include <algorithm>
#include <cmath>

#include "workloads/nn/error.h"
#include "workloads/nn/nvtx.h"

namespace plumb::amp {

using nn::Buffer;
using nn::Category;
using nn::Dtype;
using nn::Range;
using nn::Tensor;

namespace {

constexpr uint64_t kEvaluationSamples = uint64_t{1} << 40;  // far from any training step

nn::Dtype dtypeOf(Precision precision) {
  switch (precision) {
    case Precision::kFloat16:
      return Dtype::kFloat16;
    case Precision::kBfloat16:
      return Dtype::kBfloat16;
    default:
      return Dtype::kFloat32;
  }
}

float uniform(uint64_t index) {
  uint64_t x = index * 0x9e3779b97f4a7c15ull;  // splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  x ^= x >> 31;
  return static_cast<float>(x >> 40) * (1.0f / 8388608.0f) - 1.0f;
}

void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  nn::check(cudaMemcpyAsync(to, from, bytes, kind, stream), "copying between host and device");
}

}  // namespace

void makeSamples(uint64_t seed, uint64_t firstSample, int count, int inputs, float* x, float* y) {
  for (int i = 0; i < count; ++i) {
    const uint64_t sample = (firstSample + static_cast<uint64_t>(i)) * static_cast<uint64_t>(inputs);
    for (int k = 0; k < inputs; ++k) x[k] = uniform(seed * 0x100000001b3ull + sample + static_cast<uint64_t>(k));
    *y++ = std::sin(3.0f * x[0]) + x[1] * x[2] + 0.5f * std::cos(4.0f * x[3]);
    x += inputs;
  }
}

Trainer::Trainer(const Options& o)
    : m_options(o),
      m_gemm(m_ledger, m_stream,
             o.precision == Precision::kTensorFloat32 ? nn::Float32Multiply::kTensorFloat32
                                                      : nn::Float32Multiply::kFloat32),
      m_scratch(m_ledger, m_stream, Category::kWorkspace, "column sums", Dtype::kFloat32,
                static_cast<size_t>(nn::kColumnChunks) * static_cast<size_t>(std::max(o.hidden, o.inputs))),
      m_x(m_ledger, m_stream, Category::kInput, "x", Dtype::kFloat32,
          static_cast<size_t>(o.batch) * static_cast<size_t>(o.inputs)),
      m_y(m_ledger, m_stream, Category::kInput, "y", Dtype::kFloat32, static_cast<size_t>(o.batch)),
      m_losses(m_ledger, m_stream, Category::kActivation, "loss/per sample", Dtype::kFloat32,
               static_cast<size_t>(o.batch)),
      m_loss(m_ledger, m_stream, Category::kActivation, "loss/mean", Dtype::kFloat32, 1),
      m_foundNonFinite(m_ledger, m_stream, Category::kWorkspace, "found inf", Dtype::kInt32, 1),
      m_hostX(m_x.tensor().count),
      m_hostY(m_y.tensor().count),
      m_hostLoss(1),
      m_hostFound(1),
      m_context{dtypeOf(o.precision),
                m_stream,
                m_ledger,
                m_gemm,
                m_scratch.tensor(),
                o.mistake == Mistake::kHalfModel ? Dtype::kFloat16 : Dtype::kFloat32},
      m_mlp(std::make_unique<Mlp>(m_context, std::vector<int>{o.inputs, o.hidden, o.hidden, o.hidden, 1}, o.seed)),
      m_scaler(o.scalesLoss() ? o.initialScale : 1.0f, o.growthInterval) {
  m_stream.synchronize();
}

Trainer::~Trainer() { cudaStreamSynchronize(m_stream); }

StepResult Trainer::step(int step) {
  const Range range("step", static_cast<uint64_t>(step));
  loadBatch(static_cast<uint64_t>(step) * static_cast<uint64_t>(m_options.batch));
  backward(forward());
  const Range optimizer("optimizer");
  const bool use = !scalesLoss() || m_scaler.update(unscale());
  if (use) {
    update();
  } else {
    const Range nothing("skipped step");
  }
  m_stream.synchronize();
  return {m_hostLoss[0], !use};
}

void Trainer::loadBatch(uint64_t firstSample) {
  const Range range("batch");
  makeSamples(m_options.seed, firstSample, m_options.batch, m_options.inputs, m_hostX.data(), m_hostY.data());
  copy(m_x.as<float>(), m_hostX.data(), m_hostX.bytes(), cudaMemcpyHostToDevice, m_stream);
  copy(m_y.as<float>(), m_hostY.data(), m_hostY.bytes(), cudaMemcpyHostToDevice, m_stream);
}

const Tensor& Trainer::forward() {
  const Range range("forward");
  const Tensor& prediction = m_mlp->forward(m_context, m_x, m_options.batch);
  const Range loss("loss");
  nn::squaredErrorForward(m_stream, prediction, m_y, m_losses);
  nn::sum(m_stream, m_losses, m_loss, 1.0f / static_cast<float>(m_options.batch));
  copy(m_hostLoss.data(), m_loss.as<float>(), m_hostLoss.bytes(), cudaMemcpyDeviceToHost, m_stream);
  return prediction;
}

void Trainer::backward(const Tensor& prediction) {
  const Range range("backward");
  Buffer gradient(m_ledger, m_stream, Category::kActivation, "loss/gradient", m_context.dtype, prediction.count);
  {
    const Range loss("loss");
    nn::squaredErrorBackward(m_stream, prediction, m_y, gradient,
                             m_scaler.scale() * m_options.lossWeight / static_cast<float>(m_options.batch));
  }
  m_mlp->backward(m_context, std::move(gradient), m_options.batch);
}

bool Trainer::unscale() {
  const Range range("unscale", static_cast<uint64_t>(m_scaler.scale()));
  nn::check(cudaMemsetAsync(m_foundNonFinite.as<int>(), 0, sizeof(int), m_stream), "clearing the inf flag");
  for (Parameter* parameter : m_mlp->parameters())
    nn::scaleAndCheck(m_stream, parameter->gradient, 1.0f / m_scaler.scale(), m_foundNonFinite);
  copy(m_hostFound.data(), m_foundNonFinite.as<int>(), m_hostFound.bytes(), cudaMemcpyDeviceToHost, m_stream);
  m_stream.synchronize();
  return m_hostFound[0] == 0;
}

void Trainer::update() {
  nn::AdamwOptions options;
  options.learningRate = m_options.learningRate;
  options.epsilon = m_options.epsilon;
  ++m_updates;
  for (Parameter* p : m_mlp->parameters()) nn::adamw(m_stream, options, m_updates, p->weight, p->gradient, p->m, p->v);
}

std::vector<float> Trainer::download(const Tensor& tensor) {
  std::vector<float> values(tensor.count);
  Buffer exact;
  if (tensor.dtype != Dtype::kFloat32) {
    exact = Buffer(m_ledger, m_stream, Category::kWorkspace, "in fp32", Dtype::kFloat32, tensor.count);
    nn::cast(m_stream, tensor, exact);
  }
  copy(values.data(), exact ? exact.tensor().data : tensor.data, values.size() * sizeof(float), cudaMemcpyDeviceToHost,
       m_stream);
  m_stream.synchronize();
  return values;
}

HalfHealth Trainer::health() {
  const Range range("health");
  HalfHealth health{};
  size_t all = 0;
  const auto parameters = m_mlp->parameters();
  m_before.resize(parameters.size());
  for (size_t p = 0; p < parameters.size(); ++p) {
    const auto weight = download(parameters[p]->weight), gradient = download(parameters[p]->gradient),
               v = download(parameters[p]->v);
    all += weight.size();
    for (size_t i = 0; i < weight.size(); ++i) {
      health.nonFinite += !std::isfinite(weight[i]);
      if (gradient[i] == 0.0f || m_updates == 0) continue;
      health.zeroMoments += v[i] == 0.0f;
      health.lostUpdates += !m_before[p].empty() && weight[i] == m_before[p][i];
    }
    m_before[p] = weight;
  }
  const auto count = static_cast<double>(all);
  const Range zero("second moments that are 0", static_cast<uint64_t>(health.zeroMoments));
  const Range lost("weights whose update was lost", static_cast<uint64_t>(health.lostUpdates));
  const Range broken("weights that are inf or nan", static_cast<uint64_t>(health.nonFinite));
  return {health.zeroMoments / count, health.lostUpdates / count, health.nonFinite / count};
}

GradientShares Trainer::gradientShares(float scale, bool exact) {
  const Range range(exact           ? "gradients in fp32"
                    : scale == 1.0f ? "gradients unscaled"
                                    : "gradients scaled",
                    static_cast<uint64_t>(scale));
  nn::Gemm gemm(m_ledger, m_stream);
  const Compute c{exact ? Dtype::kFloat32 : m_context.dtype, m_stream, m_ledger, gemm, m_scratch.tensor()};
  loadBatch(kEvaluationSamples);
  const Tensor prediction = m_mlp->forward(c, m_x, m_options.batch);
  Buffer gradient(m_ledger, m_stream, Category::kActivation, "loss/gradient", c.dtype, prediction.count);
  nn::squaredErrorBackward(m_stream, prediction, m_y, gradient,
                           scale * kSmallLoss / static_cast<float>(m_options.batch));
  m_mlp->backward(c, std::move(gradient), m_options.batch);
  size_t zeros = 0, nonFinite = 0, all = 0;
  for (const Parameter* parameter : m_mlp->parameters()) {
    const std::vector<float> gradients = download(parameter->gradient);
    zeros += static_cast<size_t>(std::count(gradients.begin(), gradients.end(), 0.0f));
    nonFinite += static_cast<size_t>(
        std::count_if(gradients.begin(), gradients.end(), [](float value) { return !std::isfinite(value); }));
    all += gradients.size();
  }
  const Range zero("gradients that are 0", zeros);
  const Range broken("gradients that are inf or nan", nonFinite);
  const auto count = static_cast<double>(all);
  return {static_cast<double>(zeros) / count, static_cast<double>(nonFinite) / count};
}

Types Trainer::types() {
  const nn::Dtype kept = m_mlp->parameters().front()->weight.tensor().dtype;
  for (const Parameter* p : m_mlp->parameters()) {
    for (const Buffer* buffer : {&p->weight, &p->gradient, &p->m, &p->v}) {
      if (buffer->tensor().dtype != kept) throw nn::DeviceError(p->name + ": its tensors are of different types");
    }
  }
  const Tensor& prediction = m_mlp->forward(m_context, m_x, m_options.batch);
  const nn::Dtype products = prediction.dtype;
  m_mlp->dropActivations();
  return {products, kept, m_losses.tensor().dtype};
}

float Trainer::evaluate() {
  const Range range("evaluation");
  nn::Gemm gemm(m_ledger, m_stream);
  const Compute exact{Dtype::kFloat32, m_stream, m_ledger, gemm, m_scratch.tensor()};
  loadBatch(kEvaluationSamples);
  nn::squaredErrorForward(m_stream, m_mlp->forward(exact, m_x, m_options.batch), m_y, m_losses);
  nn::sum(m_stream, m_losses, m_loss, 1.0f / static_cast<float>(m_options.batch));
  m_mlp->dropActivations();
  copy(m_hostLoss.data(), m_loss.as<float>(), m_hostLoss.bytes(), cudaMemcpyDeviceToHost, m_stream);
  m_stream.synchronize();
  return m_hostLoss[0];
}

}  // namespace plumb::amp
