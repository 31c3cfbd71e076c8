// SPDX-License-Identifier: Apache-2.0
#include "workloads/amp/options.h"

#include <CLI/CLI.hpp>
#include "workloads/nn/number_option.h"

namespace plumb::amp {
namespace {

constexpr const char* kDescription =
    "Trains an MLP (16 - hidden - hidden - hidden - 1) on made-up regression data with AdamW, in one of four "
    "precisions.\n"
    "fp16 and bf16 follow autocast: matrix products in 16 bit, weights, loss and optimizer in fp32; fp16 also scales "
    "the\n"
    "loss (halved, and the step skipped, when a gradient is inf or nan; doubled after --growth-interval good steps).\n";

constexpr const char* kFooter = "\nExit code: 0 trained; 1 failed, or a check did not hold; 2 wrong arguments.\n";

struct Words {
  std::string precision = "fp16";
  std::string device = "auto";
  std::string wrong;
};

void addOptions(CLI::App& app, Options& o, Words& words) {
  const CLI::Range positive(1, 1 << 24);
  CLI::Option* precision = app.add_option("--precision", words.precision, "of the matrix products")
                               ->check(CLI::IsMember({"fp32", "tf32", "fp16", "bf16"}))
                               ->capture_default_str();
  app.add_option("--hidden", o.hidden,
                 "width of the hidden layers (default: 2048 on a GPU, 256 on the software device)")
      ->check(positive);
  app.add_option("--batch", o.batch, "samples per step (default: 1024 on a GPU, 256 on the software device)")
      ->check(positive);
  app.add_option("--steps", o.steps, "training steps (default: 200 on a GPU, 40 on the software device)")
      ->check(positive);
  app.add_option("--lr", o.learningRate, "learning rate")->check(nn::positiveNumber())->default_str("1e-3");
  app.add_option("--epsilon", o.epsilon, "what AdamW adds to its denominators")
      ->check(nn::positiveNumber())
      ->default_str("1e-8");
  app.add_option("--loss-weight", o.lossWeight,
                 "what the mean squared error is multiplied by before the backward pass (default: 1; with --wrong "
                 "fp16-no-scaler 1/65536, a loss as small as auxiliary ones are)")
      ->check(nn::positiveNumber());
  app.add_option("--initial-scale", o.initialScale, "loss scale at the start (fp16)")
      ->check(nn::positiveNumber(1.0, 1e30))
      ->default_str("65536");
  app.add_option("--growth-interval", o.growthInterval, "good steps before the loss scale is doubled (fp16)")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--seed", o.seed, "of the weights and the data")->capture_default_str();
  app.add_option("--wrong", words.wrong,
                 "a mistake on purpose: half-model keeps weights, gradients and optimizer state in fp16 too, "
                 "bf16-scaler scales "
                 "the loss in bf16, fp16-no-scaler does not in fp16; sets --precision")
      ->check(CLI::IsMember({"half-model", "bf16-scaler", "fp16-no-scaler"}))
      ->excludes(precision);
  app.add_option("--device", words.device, "software is the CPU behind CUDA's interfaces")
      ->check(CLI::IsMember({"auto", "gpu", "software"}))
      ->capture_default_str();
  for (CLI::Option* option : app.get_options()) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

Mistake mistakeOf(const std::string& word) {
  if (word == "half-model") return Mistake::kHalfModel;
  if (word == "bf16-scaler") return Mistake::kBfloat16WithScaler;
  return word == "fp16-no-scaler" ? Mistake::kFloat16WithoutScaler : Mistake::kNone;
}

Precision precisionOf(const std::string& word) {
  if (word == "fp32") return Precision::kFloat32;
  if (word == "tf32") return Precision::kTensorFloat32;
  return word == "bf16" ? Precision::kBfloat16 : Precision::kFloat16;
}

}  // namespace

const char* precisionName(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return "fp32";
    case Precision::kTensorFloat32:
      return "tf32";
    case Precision::kFloat16:
      return "fp16";
    case Precision::kBfloat16:
      return "bf16";
  }
  return "?";
}

void Options::chooseDefaults(bool gpu) {
  if (hidden == 0) hidden = gpu ? 2048 : 256;
  if (batch == 0) batch = gpu ? 1024 : 256;
  if (steps == 0) steps = gpu ? 200 : 40;
}

ParsedOptions parseOptions(const std::vector<std::string>& arguments) {
  ParsedOptions parsed;
  Words words;
  CLI::App app(kDescription, "amp");
  app.footer(kFooter);
  addOptions(app, parsed.options, words);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes a vector from its end
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    parsed.help = app.help();
    return parsed;
  } catch (const CLI::ParseError& error) {
    throw nn::UsageError(error.what());
  }
  parsed.options.mistake = mistakeOf(words.wrong);
  if (parsed.options.mistake == Mistake::kFloat16WithoutScaler && app.count("--loss-weight") == 0)
    parsed.options.lossWeight = kSmallLoss;
  parsed.options.precision = words.wrong == "bf16-scaler" ? Precision::kBfloat16 : precisionOf(words.precision);
  parsed.options.device = nn::deviceWish(words.device);
  return parsed;
}

}  // namespace plumb::amp
