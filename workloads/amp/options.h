// SPDX-License-Identifier: Apache-2.0
// The command line of amp.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/nn/device_choice.h"

namespace plumb::amp {

enum class Precision { kFloat32, kTensorFloat32, kFloat16, kBfloat16 };
const char* precisionName(Precision precision);

// What people get wrong, on purpose.
enum class Mistake {
  kNone,
  kHalfModel,           // model.half(): weights, gradients and optimizer state are fp16 tensors; the loss is not scaled
  kBfloat16WithScaler,  // a scaler that bf16, with fp32's range, has no need of
  kFloat16WithoutScaler
};

// The usual first loss scale, of a loss whose weight is 1.
constexpr float kUsualScale = 65536.0f;
// The weight of a loss as small as auxiliary losses and means over many outputs are, whose gradients fp16 loses.
constexpr float kSmallLoss = 1.0f / 65536.0f;

struct Options {
  Mistake mistake = Mistake::kNone;
  Precision precision = Precision::kFloat16;
  int inputs = 16;
  int hidden = 0;  // 0: decide by the device
  int batch = 0;   // 0: decide by the device
  int steps = 0;   // 0: decide by the device
  float learningRate = 1e-3f;
  float epsilon = 1e-8f;
  float lossWeight = 1.0f;  // of the mean squared error
  float initialScale = kUsualScale;
  int growthInterval = 2000;
  uint64_t seed = 1;
  nn::DeviceWish device = nn::DeviceWish::kAuto;

  bool scalesLoss() const {
    return mistake == Mistake::kBfloat16WithScaler || (precision == Precision::kFloat16 && mistake == Mistake::kNone);
  }
  void chooseDefaults(bool gpu);
};

struct ParsedOptions {
  Options options;
  std::optional<std::string> help;  // print this and exit with 0
};

// Throws nn::UsageError with one sentence when the arguments make no sense.
ParsedOptions parseOptions(const std::vector<std::string>& arguments);

}  // namespace plumb::amp
