// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/analyses/precision.h"

namespace plumb {
namespace {

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

std::string_view formatOfTorchType(std::string_view type) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {{"float", "fp32"},
                                                                             {"double", "fp64"},
                                                                             {"c10::Half", "fp16"},
                                                                             {"c10::BFloat16", "bf16"},
                                                                             {"c10::Float8_e4m3fn", "fp8"},
                                                                             {"c10::Float8_e5m2", "fp8"},
                                                                             {"c10::Float8_e4m3fnuz", "fp8"},
                                                                             {"c10::Float8_e5m2fnuz", "fp8"}};
  for (const auto& [name, format] : kTypes) {
    if (name == type) return format;
  }
  return {};
}

int64_t bytesOfFormat(std::string_view format) {
  if (format == "fp64") return 8;
  if (format == "fp32" || format == "tf32") return 4;
  if (format == "fp16" || format == "bf16") return 2;
  return format == "fp8" ? 1 : 0;
}

std::string_view formatOfGemmKernel(std::string_view name) {
  const std::string text = lowered(name);
  static constexpr std::array<std::string_view, 10> kMatrixKernels = {
      "gemm",     "cijk_",     "nvjet",     "tensorop_",    "scudnn",
      "884cudnn", "1688cudnn", "wgrad_alg", "dgrad_engine", "sp3asmconv"};
  const bool isMatrix = std::ranges::any_of(kMatrixKernels, [&](std::string_view sign) { return has(text, sign); });
  if (!isMatrix || has(text, "reduce") || has(text, "gemmk1")) return {};
  // What the multiplication reads, in the order of what tells most. fp16 of Turing is called s1688gemm as tf32 is.
  static constexpr std::pair<std::string_view, std::string_view> kSigns[] = {
      {"e4m3", "fp8"},           {"e5m2", "fp8"},         {"fp8", "fp8"},
      {"bf16bf16", "bf16"},      {"gemm_bf16", "bf16"},   {"bfloat16", "bf16"},
      {"bf16", "bf16"},          {"tf32", "tf32"},        {"tfloat32", "tf32"},
      {"f16f16", "fp16"},        {"gemm_f16", "fp16"},    {"hgemm", "fp16"},
      {"h884", "fp16"},          {"s884", "fp16"},        {"h1688", "fp16"},
      {"h16816", "fp16"},        {"_half", "fp16"},       {"fp16", "fp16"},
      {"tensorop_f16_", "fp16"}, {"s1688", "tf32"},       {"dgemm", "fp64"},
      {"d884", "fp64"},          {"zgemm", "fp64"},       {"sgemm", "fp32"},
      {"cgemm", "fp32"},         {"scudnn", "fp32"},      {"engine<float", "fp32"},
      {"engine<double", "fp64"}, {"fp32", "fp32"},        {"f32f32", "fp32"},
      {"gemm_f32", "fp32"},      {"f32_f32_f32", "fp32"}, {"_f16_", "fp16"}};
  for (const auto& [sign, format] : kSigns) {
    if (has(text, sign)) return format;
  }
  if (has(text, "cijk_")) {  // Tensile: the layout is followed by the types: …_BBS_…, _HHS_, _SB_
    for (const auto& [sign, format] : {std::pair<std::string_view, std::string_view>{"_bbs", "bf16"},
                                       {"_b_bs", "bf16"},
                                       {"_hhs", "fp16"},
                                       {"_h_hs", "fp16"},
                                       {"_hb", "fp16"},
                                       {"_s_", "fp32"},
                                       {"_sb", "fp32"},
                                       {"_db", "fp64"}}) {
      if (has(text, sign)) return format;
    }
  }
  return "unknown";
}

}  // namespace plumb
