// SPDX-License-Identifier: Apache-2.0
// Collectives of one torch.profiler trace, from the metadata of its operators (record_param_comms) and of its kernels.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/import/chrome_event.h"
#include "analyzer/import/chrome_export_rows.h"
#include "analyzer/import/chrome_operators.h"
#include "analyzer/import/tally.h"
#include "analyzer/import/trace_file.h"

namespace plumb::import {

class ChromeCollectives {
 public:
  ChromeCollectives(TraceFile& file, Tally& tally, ChromeStacks& stacks)
      : m_file(file), m_tally(tally), m_stacks(stacks) {}

  // Whether the operator enqueues a collective, by its metadata; then add() it.
  [[nodiscard]] static bool isCollective(const ChromeEvent& event);
  void add(const ChromeEvent& event, const HostSpan& span, int64_t operatorId, uint64_t offset);
  // One that an export of ours wrote as an event of its own.
  void addAlone(const ChromeEvent& event, const HostSpan& span, uint64_t offset);
  // A kernel that is communication by its name, before or after its operator. external: its "External id".
  void addKernel(const ChromeEvent& event, int64_t process, int64_t start, int64_t correlation,
                 std::optional<int64_t> external, uint64_t offset);
  // A copy from device to device whose "External id" may lead to an operator that enqueues a collective. It is that
  // collective (by copy engines) unless this has kernels: then it only packs or unpacks what they send.
  void addCopy(int64_t process, int64_t correlation, int64_t external);

  // No more events. rank: of the trace, if known; groups: distributedInfo's pg_config, a JSON array, may be empty.
  [[nodiscard]] Status finish(int64_t process, std::optional<int64_t> rank, std::string_view groups);

 private:
  struct Group {
    int64_t id = 0, process = 0, size = 0;
    std::string name, description, ranksText;
    std::vector<int64_t> ranks;  // of the run, in the group's order; empty: not known
    std::optional<int64_t> ownRank;
  };
  struct Facts;
  struct OfOperator {
    int64_t link;
    size_t said;  // hash of what its metadata says
  };
  // A kernel whose operator did not come before it.
  struct Waiting {
    int64_t process, correlation;
    std::optional<int64_t> external;
    uint64_t offset;
    // Of the collective that was made of the kernel's own metadata; 0: it has none.
    int64_t collective = 0, link = 0;
    size_t said = 0;
    bool isBad = false, hasUnknownDatatype = false;
  };

  [[nodiscard]] schema::CollectiveRow insert(const Facts& facts, const HostSpan& span,
                                             std::optional<int64_t> operatorId);
  [[nodiscard]] schema::CollectiveRow rowOf(const Facts& facts, const HostSpan& span);
  void count(const Facts& facts, uint64_t offset);
  [[nodiscard]] std::optional<int64_t> linkOf(std::optional<int64_t> external, int64_t correlation,
                                              std::optional<size_t> said) const;
  [[nodiscard]] Status settleWaiting();
  void insertState(const ChromeEvent& event, int64_t id, int64_t start);
  [[nodiscard]] std::optional<int64_t> groupOf(const Facts& facts, int64_t process);
  void link(int64_t process, int64_t external, int64_t correlation);
  void linkCopies();
  void writeGroup(Group& group, std::optional<int64_t> rank);

  struct Copy {
    int64_t process, correlation, external;
  };

  TraceFile& m_file;
  Tally& m_tally;
  ChromeStacks& m_stacks;
  std::set<int64_t> m_alone;  // correlation ids of the work of collectives with an event of their own
  int64_t m_links = 0;
  std::map<std::string, Group, std::less<>> m_groups;
  std::unordered_map<int64_t, OfOperator> m_byExternal;  // by the operator's "External id"
  std::vector<Waiting> m_waiting;
  std::set<std::pair<int64_t, int64_t>> m_kernels;  // seen (correlation, start)
  std::set<std::pair<int64_t, int64_t>> m_linked;   // (link id, correlation)
  std::vector<Copy> m_copies;
};

}  // namespace plumb::import
