// SPDX-License-Identifier: Apache-2.0
// Joins the two halves of a collective: the API call and what NCCL later enqueued for it. Also NCCL's byte convention.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/api/records.h"

namespace plumb::recorder {

struct CompletedCollective {
  CollectiveRecord call{};
  std::optional<CollectiveDetailRecord> detail;
};

class CollectiveAssembler {
 public:
  // A value: a collective that is complete, or (without detail) the oldest of too many that wait.
  [[nodiscard]] std::optional<CompletedCollective> add(const CollectiveRecord& call);
  [[nodiscard]] std::optional<CompletedCollective> add(const CollectiveDetailRecord& detail);
  // The process is gone: the calls whose detail never came.
  [[nodiscard]] std::vector<CompletedCollective> finish();

  // Details without a call; counted by finish() and when too many wait.
  [[nodiscard]] uint64_t orphanedDetails() const noexcept { return m_orphanedDetails; }

 private:
  static constexpr size_t kMaxWaiting = 200'000;

  std::unordered_map<uint64_t, CollectiveRecord> m_calls;
  std::deque<uint64_t> m_callOrder;
  std::unordered_map<uint64_t, CollectiveDetailRecord> m_details;
  uint64_t m_orphanedDetails = 0;
};

// Bytes of one element of an NCCL datatype ("ncclBfloat16"; the prefix may be missing); 0: not known.
[[nodiscard]] uint64_t datatypeBytes(std::string_view datatype) noexcept;

}  // namespace plumb::recorder
