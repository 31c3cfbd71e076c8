// SPDX-License-Identifier: Apache-2.0
// One connected target: its shared memory and what becomes of its records.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "collector/recorder/process_trace.h"
#include "collector/transport/consumer.h"

namespace plumb::recorder {

class ProcessFeed {
 public:
  ProcessFeed(Session& session, const transport::Hello& hello, transport::SegmentConsumer segment);

  struct Progress {
    size_t bytes = 0;   // that were taken
    bool more = false;  // there is more at once
  };
  // Takes what is published now, at most a few buffers per ring so that no process starves another.
  Progress drain(std::span<std::byte> buffer, int64_t nowNs);
  // Takes everything that is left and closes the process's rows. Only when nobody writes to the segment any more, or
  // when the recording is being stopped.
  void finish(std::span<std::byte> buffer, int64_t nowNs, bool isGone);

  void noteGoodbye() noexcept { m_saidGoodbye = true; }
  [[nodiscard]] uint64_t lostCount() const { return m_trace->lostCount(); }

 private:
  transport::SegmentConsumer m_segment;
  std::unique_ptr<ProcessTrace> m_trace;
  bool m_saidGoodbye = false;
};

}  // namespace plumb::recorder
