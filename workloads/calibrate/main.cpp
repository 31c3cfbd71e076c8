// SPDX-License-Identifier: Apache-2.0
// Prints one JSON object: the device and its measured roofs (FLOP/s by compute type, bytes/s of its memory). Progress
// goes to stderr.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "workloads/calibrate/roofs.h"
#include "workloads/nn/device.h"
#include "workloads/nn/device_choice.h"
#include "workloads/nn/error.h"
#include "workloads/nn/number_option.h"
#include "workloads/nn/operations.h"

namespace plumb::calibrate {
namespace {

std::string hexOf(const cudaUUID_t& uuid) {
  std::string text;
  for (const char byte : uuid.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

nlohmann::ordered_json measureRoofs(const Effort& effort) {
  nlohmann::ordered_json roofs;
  const auto measure = [&](const char* name, const char* unit, auto method) {
    fmt::print(stderr, "calibrate: {} …", name);
    std::fflush(stderr);
    const double perSecond = method();
    fmt::print(stderr, " {:.4g} {}\n", perSecond, unit);
    roofs[name] = perSecond;
  };
  const auto gemm = [&](nn::Dtype dtype, nn::Float32Multiply multiply) {
    return [&effort, dtype, multiply] { return measureGemm(effort, dtype, multiply); };
  };
  measure("fp32", "FLOP/s", gemm(nn::Dtype::kFloat32, nn::Float32Multiply::kFloat32));
  measure("tf32", "FLOP/s", gemm(nn::Dtype::kFloat32, nn::Float32Multiply::kTensorFloat32));
  measure("fp16", "FLOP/s", gemm(nn::Dtype::kFloat16, nn::Float32Multiply::kFloat32));
  measure("bf16", "FLOP/s", gemm(nn::Dtype::kBfloat16, nn::Float32Multiply::kFloat32));
  measure("memory", "bytes/s", [&] { return measureMemory(effort); });
  return roofs;
}

int run(const std::vector<std::string>& arguments) {
  std::string word = "auto";
  double seconds = 0.15;
  CLI::App app("Measures the roofs of the device and prints them as one JSON object on standard output.", "calibrate");
  app.add_option("--device", word, "software is the CPU behind CUDA's interfaces")
      ->check(CLI::IsMember({"auto", "gpu", "software"}))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->capture_default_str();
  app.add_option("--seconds", seconds, "time of each measurement, about")
      ->check(nn::positiveNumber(1e-6, 60.0))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->capture_default_str();
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend() - 1);  // CLI11 takes a vector from its end
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    throw nn::UsageError(error.what());
  }
  const nn::DeviceChoice choice = nn::chooseDevice(nn::deviceWish(word));
  if (!choice.note.empty()) fmt::print(stderr, "calibrate: {}\n", choice.note);
  nn::enterProgram(choice, arguments);

  nn::useDevice(0);
  cudaDeviceProp properties{};
  nn::check(cudaGetDeviceProperties(&properties, 0), "reading the device's properties");
  nlohmann::ordered_json out;
  out["device_name"] = properties.name;
  out["uuid"] = hexOf(properties.uuid);
  out["kind"] = nn::kernelsAreForGpu() ? "gpu" : "software";
  out["roofs"] = measureRoofs(effortFor(nn::kernelsAreForGpu(), seconds));
  fmt::print("{}\n", out.dump());
  return 0;
}

}  // namespace
}  // namespace plumb::calibrate

int main(int argc, char** argv) {
  try {
    return plumb::calibrate::run({argv, argv + argc});
  } catch (const plumb::nn::UsageError& error) {
    fmt::print(stderr, "calibrate: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "calibrate: {}\n", error.what());
    return 1;
  }
}
