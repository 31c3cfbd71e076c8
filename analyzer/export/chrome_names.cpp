// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/chrome_names.h"

#include <fmt/format.h>

#include <utility>

namespace plumb::exports {

std::string_view torchOperation(std::string_view nccl) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"AllReduce", "allreduce"},
                                                                             {"AllGather", "_allgather_base"},
                                                                             {"ReduceScatter", "_reduce_scatter_base"},
                                                                             {"Broadcast", "broadcast"},
                                                                             {"Reduce", "reduce"},
                                                                             {"AllToAll", "all_to_all"},
                                                                             {"Send", "send"},
                                                                             {"Recv", "recv"},
                                                                             {"Barrier", "barrier"}};
  for (const auto& [known, torch] : kNames) {
    if (known == nccl) return torch;
  }
  return nccl;
}

TorchType torchType(std::string_view nccl) {
  static constexpr std::pair<std::string_view, TorchType> kTypes[] = {{"ncclFloat32", {"Float", 4}},
                                                                      {"ncclFloat16", {"Half", 2}},
                                                                      {"ncclBfloat16", {"BFloat16", 2}},
                                                                      {"ncclFloat64", {"Double", 8}},
                                                                      {"ncclInt64", {"Long", 8}},
                                                                      {"ncclUint64", {"Long", 8}},
                                                                      {"ncclInt32", {"Int", 4}},
                                                                      {"ncclUint32", {"Int", 4}},
                                                                      {"ncclInt8", {"Char", 1}},
                                                                      {"ncclUint8", {"Byte", 1}},
                                                                      {"ncclFloat8e4m3", {"Float8_e4m3fn", 1}},
                                                                      {"ncclFloat8e5m2", {"Float8_e5m2", 1}}};
  for (const auto& [known, type] : kTypes) {
    if (known == nccl) return type;
  }
  return {nccl, 0};
}

const char* memoryKindName(int64_t kind) {
  static constexpr const char* kNames[] = {"Unknown", "Pageable", "Pinned", "Device", "Array", "Managed"};
  return kind >= 0 && kind < 6 ? kNames[kind] : "Unknown";
}
std::string copyName(int64_t kind, int64_t source, int64_t target) {
  static constexpr std::string_view kNames[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  const std::string_view direction = kNames[kind >= 0 && kind < 11 ? kind : 0];
  const auto side = [](int64_t memory, char letter) {
    return memory == 0 && letter == 'H' ? "Host" : memoryKindName(memory);
  };
  return fmt::format("Memcpy {} ({} -> {})", direction, side(source, direction.front()),
                     side(target, direction.back()));
}
const char* syncName(int64_t kind) {
  switch (kind) {
    case 1:
      return "Event Sync";
    case 2:
      return "Stream Wait Event";
    case 3:
      return "Stream Sync";
    case 4:
      return "Context Sync";
    default:
      return "Unknown Sync";
  }
}

std::string micros(int64_t ns) {
  const char* sign = ns < 0 ? "-" : "";
  const uint64_t value = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return fmt::format("{}{}.{:03}", sign, value / 1000, value % 1000);
}

}  // namespace plumb::exports
