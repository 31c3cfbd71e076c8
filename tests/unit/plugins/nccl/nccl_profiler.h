// SPDX-License-Identifier: Apache-2.0
// The plugin with a fake host behind it, and the records that reached the host.
#pragma once
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plugins/nccl/lane.h"
#include "plugins/nccl/profilers.h"
#include "tests/fakes/fake_host.h"

namespace plumb::nccl {

class NcclProfiler : public testing::Test {
 protected:
  NcclProfiler() { processLane().start(host.raw()); }
  ~NcclProfiler() override { processLane().onForkChild(); }

  [[nodiscard]] std::vector<CollectiveRecord> collectives() const {
    return host.all<CollectiveRecord>(RecordKind::kCollective);
  }
  // By event id; a second detail of one event is an error.
  [[nodiscard]] std::map<uint64_t, CollectiveDetailRecord> details() const {
    std::map<uint64_t, CollectiveDetailRecord> found;
    for (const CollectiveDetailRecord& d : host.all<CollectiveDetailRecord>(RecordKind::kCollectiveDetail)) {
      EXPECT_TRUE(found.emplace(d.event_id, d).second) << "two details of event " << d.event_id;
    }
    return found;
  }
  // The external ids that launches pushed, in order.
  [[nodiscard]] std::vector<uint64_t> pushed() const {
    std::vector<uint64_t> ids;
    for (const std::string& call : host.correlationCalls()) {
      if (call.starts_with("push ")) {
        ids.push_back(std::stoull(call.substr(5)));
      }
    }
    return ids;
  }

  test::FakeHost host;
};

}  // namespace plumb::nccl
