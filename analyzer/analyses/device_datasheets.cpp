// SPDX-License-Identifier: Apache-2.0
// Vendors' datasheets, dense: where a sheet states figures with sparsity only they are halved. fp64 and fp32 are of the
// matrix units where these are faster. fp16 and bf16 accumulate in fp32, which GeForce cards do at half their speed.
// Links are bytes/s in one direction: sheets state the sum of both. A device of ROCm is one die: the MI250s have two.
#include "analyzer/analyses/device_datasheets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

namespace plumb {
namespace {

struct Datasheet {
  const char* words;                         // all in the device's name; a more special one comes first
  double fp64, fp32, tf32, fp16, bf16, fp8;  // TFLOP/s; 0: it has no such unit, or the sheet does not say
  double memory, nvlink, pcie;               // GB/s; nvlink: or Infinity Fabric, to all others together
};

constexpr double kPcie3 = 16, kPcie4 = 32, kPcie5 = 64;

constexpr Datasheet kDatasheets[] = {
    // NVIDIA, data centre
    {"GB200", 40, 80, 1250, 2500, 2500, 5000, 8000, 900, kPcie5},
    {"B200", 37, 75, 1100, 2250, 2250, 4500, 7700, 900, kPcie5},
    {"GH200 480GB", 67, 67, 494.7, 989.4, 989.4, 1978.9, 4000, 450, 450},  // host link: NVLink-C2C
    {"H200 NVL", 60, 60, 417.5, 835.5, 835.5, 1670.5, 4800, 450, kPcie5},
    {"H200", 67, 67, 494.7, 989.4, 989.4, 1978.9, 4800, 450, kPcie5},
    {"H100 NVL", 60, 60, 417.5, 835.5, 835.5, 1670.5, 3938, 300, kPcie5},
    {"H100 PCIE", 51.2, 51.2, 378, 756, 756, 1513, 2039, 300, kPcie5},
    {"H100", 66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 3352, 450, kPcie5},
    {"H800", 1, 66.9, 494.7, 989.4, 989.4, 1978.9, 3352, 200, kPcie5},
    {"H20", 1, 44, 74, 148, 148, 296, 4000, 450, kPcie5},
    {"A100 80GB PCIE", 19.5, 19.5, 156, 312, 312, 0, 1935, 300, kPcie4},
    {"A100 PCIE", 19.5, 19.5, 156, 312, 312, 0, 1555, 300, kPcie4},
    {"A100 80GB", 19.5, 19.5, 156, 312, 312, 0, 2039, 300, kPcie4},
    {"A100", 19.5, 19.5, 156, 312, 312, 0, 1555, 300, kPcie4},
    {"A800 80GB", 19.5, 19.5, 156, 312, 312, 0, 2039, 200, kPcie4},
    {"A30", 10.3, 10.3, 82, 165, 165, 0, 933, 100, kPcie4},
    {"A10", 0, 31.2, 62.5, 125, 125, 0, 600, 0, kPcie4},
    {"A40", 0, 37.4, 74.8, 149.7, 149.7, 0, 696, 56.25, kPcie4},
    {"L4", 0, 30.3, 60, 121, 121, 242.5, 300, 0, kPcie4},
    {"L40S", 0, 91.6, 183, 362.05, 362.05, 733, 864, 0, kPcie4},
    {"L40", 0, 90.5, 90.5, 181.05, 181.05, 362, 864, 0, kPcie4},
    {"V100 PCIE", 7, 14, 0, 112, 0, 0, 900, 0, kPcie3},
    {"V100S PCIE", 8.2, 16.4, 0, 130, 0, 0, 1134, 0, kPcie3},
    {"V100 DGXS", 7.8, 15.7, 0, 125, 0, 0, 900, 0, kPcie3},
    {"V100", 7.8, 15.7, 0, 125, 0, 0, 900, 150, kPcie3},
    {"T4", 0, 8.1, 0, 65, 0, 0, 320, 0, kPcie3},
    {"P100 PCIE", 4.7, 9.3, 0, 18.7, 0, 0, 732, 0, kPcie3},
    {"P100", 5.3, 10.6, 0, 21.2, 0, 0, 732, 80, kPcie3},
    {"GP100", 5.2, 10.3, 0, 20.7, 0, 0, 717, 40, kPcie3},
    // NVIDIA, workstations and games
    {"RTX A6000", 0, 38.7, 77.4, 154.8, 154.8, 0, 768, 56.25, kPcie4},
    {"RTX 6000 ADA", 0, 91.1, 182.1, 364.2, 364.2, 728.5, 960, 0, kPcie4},
    {"RTX 5090", 0, 104.8, 104.8, 209.5, 209.5, 419, 1792, 0, kPcie5},
    {"RTX 4090", 0, 82.6, 82.6, 165.2, 165.2, 330.3, 1008, 0, kPcie4},
    {"RTX 3090 TI", 0, 40, 40, 80, 80, 0, 1008, 56.25, kPcie4},
    {"RTX 3090", 0, 35.6, 35.6, 71, 71, 0, 936, 56.25, kPcie4},
    // AMD
    {"MI355X", 78.6, 157.3, 0, 2516.6, 2516.6, 5033.2, 8000, 537.6, kPcie5},
    {"MI325X", 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 6000, 448, kPcie5},
    {"MI300X", 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 5325, 448, kPcie5},
    {"MI250X", 47.9, 47.9, 0, 191.5, 191.5, 0, 1638.4, 0, kPcie4},
    {"MI250", 45.3, 45.3, 0, 181, 181, 0, 1638.4, 0, kPcie4},
    {"MI210", 45.3, 45.3, 0, 181, 181, 0, 1638.4, 0, kPcie4},
    {"MI100", 11.5, 46.1, 0, 184.6, 92.3, 0, 1228.8, 0, kPcie4},
};

// Capital letters and digits between everything else.
std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words;
  bool isInside = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (!std::isalnum(byte)) {
      isInside = false;
      continue;
    }
    if (!isInside) words.emplace_back();
    isInside = true;
    words.back() += static_cast<char>(std::toupper(byte));
  }
  return words;
}

bool holds(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Words of a name that make it another product, or a part of one.
bool isOther(const std::vector<std::string>& name, const std::vector<std::string>& sheet) {
  static constexpr std::array<std::string_view, 7> kOther = {"LAPTOP", "TI", "SUPER", "D", "MIG", "GRID", "MAX"};
  return std::ranges::any_of(kOther, [&](std::string_view word) { return holds(name, word) && !holds(sheet, word); });
}

}  // namespace

std::vector<Roof> namedRoofs(std::string_view deviceName) {
  constexpr double kTera = 1e12, kGiga = 1e9;
  const std::vector<std::string> name = wordsOf(deviceName);
  std::vector<Roof> roofs;
  const auto sheet = std::ranges::find_if(kDatasheets, [&](const Datasheet& one) {
    const std::vector<std::string> words = wordsOf(one.words);
    return std::ranges::all_of(words, [&](const std::string& word) { return holds(name, word); }) &&
           !isOther(name, words);
  });
  if (sheet == std::end(kDatasheets)) return roofs;
  const auto add = [&](const char* resource, double perSecond, bool tensorCores) {
    if (perSecond > 0) roofs.push_back({resource, perSecond, RoofSource::Datasheet, tensorCores});
  };
  add("fp64", sheet->fp64 * kTera, false);
  add("fp32", sheet->fp32 * kTera, false);
  add("tf32", sheet->tf32 * kTera, true);
  add("fp16", sheet->fp16 * kTera, true);
  add("bf16", sheet->bf16 * kTera, true);
  add("fp8", sheet->fp8 * kTera, true);
  add("memory", sheet->memory * kGiga, false);
  add("nvlink", sheet->nvlink * kGiga, false);
  add("pcie", sheet->pcie * kGiga, false);
  return roofs;
}

}  // namespace plumb
