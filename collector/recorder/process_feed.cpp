// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/process_feed.h"

namespace plumb::recorder {

ProcessFeed::ProcessFeed(Session& session, const transport::Hello& hello, transport::SegmentConsumer segment)
    : m_segment(std::move(segment)), m_trace(std::make_unique<ProcessTrace>(session, hello, m_segment.ringCount())) {}

ProcessFeed::Progress ProcessFeed::drain(std::span<std::byte> buffer, int64_t nowNs) {
  constexpr int kBuffersPerRing = 8;
  Progress progress;
  for (uint32_t ring = 0; ring < m_segment.ringCount(); ++ring) {
    for (int i = 0; i < kBuffersPerRing; ++i) {
      const transport::Drained drained = m_segment.drain(ring, buffer);
      progress.bytes += drained.records.size();
      m_trace->accept(ring, drained.records);
      if (drained.corrupt) m_trace->countProblem(Problem::kCorruptRing, 1);
      if (!drained.more) break;
      progress.more |= i + 1 == kBuffersPerRing;
    }
  }
  m_trace->countProblem(Problem::kRingFull, m_segment.takeLosses().records);
  m_trace->settle(nowNs);
  return progress;
}

void ProcessFeed::finish(std::span<std::byte> buffer, int64_t nowNs, bool isGone) {
  // Bounded: one that is still running, or a damaged segment that somebody else still writes to, could go on for ever.
  for (int passes = 0; drain(buffer, nowNs).more && passes < (isGone ? 100'000 : 16); ++passes) {
  }
  const bool goodbye = m_saidGoodbye || m_segment.finished();
  m_trace->finish(goodbye  ? ProcessTrace::Ending::kGoodbye
                  : isGone ? ProcessTrace::Ending::kLost
                           : ProcessTrace::Ending::kStillRunning,
                  nowNs);
}

}  // namespace plumb::recorder
