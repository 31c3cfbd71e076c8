// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/collective_assembler.h"

#include <algorithm>
#include <array>

namespace plumb::recorder {

std::optional<CompletedCollective> CollectiveAssembler::add(const CollectiveRecord& call) {
  if (const auto detail = m_details.find(call.event_id); detail != m_details.end()) {
    CompletedCollective completed{call, detail->second};
    m_details.erase(detail);
    return completed;
  }
  if (const auto [entry, isNew] = m_calls.try_emplace(call.event_id, call); !isNew) {
    return CompletedCollective{call, std::nullopt};  // an id that is used twice cannot be completed
  }
  m_callOrder.push_back(call.event_id);
  std::optional<CompletedCollective> oldest;
  while (m_callOrder.size() > kMaxWaiting && !oldest) {
    const auto found = m_calls.find(m_callOrder.front());
    m_callOrder.pop_front();
    if (found == m_calls.end()) continue;  // completed long ago
    oldest = CompletedCollective{found->second, std::nullopt};
    m_calls.erase(found);
  }
  return oldest;
}

std::optional<CompletedCollective> CollectiveAssembler::add(const CollectiveDetailRecord& detail) {
  const auto call = m_calls.find(detail.event_id);
  if (call == m_calls.end()) {
    if (m_details.size() >= kMaxWaiting || !m_details.try_emplace(detail.event_id, detail).second) ++m_orphanedDetails;
    return std::nullopt;
  }
  CompletedCollective completed{call->second, detail};
  m_calls.erase(call);
  return completed;
}

std::vector<CompletedCollective> CollectiveAssembler::finish() {
  std::vector<CompletedCollective> waiting;
  for (const auto& [id, call] : m_calls) waiting.push_back({call, std::nullopt});
  std::sort(waiting.begin(), waiting.end(),
            [](const auto& a, const auto& b) { return a.call.start_ns < b.call.start_ns; });
  m_orphanedDetails += m_details.size();
  m_calls.clear();
  m_callOrder.clear();
  m_details.clear();
  return waiting;
}

uint64_t datatypeBytes(std::string_view datatype) noexcept {
  struct Size {
    std::string_view name;
    uint64_t bytes;
  };
  static constexpr std::array<Size, 17> kSizes{{{"Int8", 1},
                                                {"Char", 1},
                                                {"Uint8", 1},
                                                {"Float8e4m3", 1},
                                                {"Float8e5m2", 1},
                                                {"Float16", 2},
                                                {"Half", 2},
                                                {"Bfloat16", 2},
                                                {"Int32", 4},
                                                {"Int", 4},
                                                {"Uint32", 4},
                                                {"Float32", 4},
                                                {"Float", 4},
                                                {"Int64", 8},
                                                {"Uint64", 8},
                                                {"Float64", 8},
                                                {"Double", 8}}};
  if (datatype.substr(0, 4) == "nccl") datatype.remove_prefix(4);
  const auto* size = std::find_if(kSizes.begin(), kSizes.end(), [&](const Size& s) { return s.name == datatype; });
  return size == kSizes.end() ? 0 : size->bytes;
}

}  // namespace plumb::recorder
