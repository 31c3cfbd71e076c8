// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/fixtures.h"

#include <QFile>
#include <random>

#include "tests/support/trace_builder.h"

namespace plumb::test {

std::string Folder::write(const char* name, const QByteArray& content) const {
  QFile file(m_folder.filePath(name));
  if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size()) qFatal("cannot write %s", name);
  return file.fileName().toStdString();
}

std::string sampleTrace(const Folder& folder) {
  const std::string path = folder.path("sample.sqlite");
  makeSampleTrace(path, {.ranks = 2, .layers = 2, .steps = 3});
  return path;
}

timeline::Slice slice(int64_t start, int64_t duration, timeline::SliceKind kind, int64_t correlation) {
  timeline::Slice result;
  result.startNs = start;
  result.durationNs = duration;
  result.kind = kind;
  result.correlation = correlation;
  return result;
}

std::vector<timeline::Slice> randomSlices(uint64_t seed, size_t count, int64_t span, int64_t longest) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int64_t> start(0, span);
  std::uniform_int_distribution<int64_t> duration(0, longest);
  std::vector<timeline::Slice> slices;
  for (size_t i = 0; i < count; ++i) {
    slices.push_back(slice(start(random), duration(random)));
    slices.back().id = static_cast<int64_t>(i);
  }
  return slices;
}

timeline::Timeline timelineOf(const std::vector<std::vector<timeline::Slice>>& streams) {
  timeline::Timeline result;
  timeline::Process process;
  process.label = "rank 0";
  process.rank = 0;
  for (const auto& slices : streams) {
    timeline::Track track;
    track.label = "stream";
    track.kind = timeline::TrackKind::kStream;
    track.lanes = timeline::assignLanes(slices);
    process.tracks.push_back(track);
  }
  result.processes.push_back(process);
  timeline::indexTimeline(result);
  return result;
}

void recordHang(TraceBuilder& builder) {
  constexpr int64_t kMs = 1'000'000;
  for (int64_t rank = 0; rank < 3; ++rank) {
    const int64_t process = builder.addProcess({.rank = rank, .worldSize = 3, .endNs = 900 * kMs, .ended = "lost"});
    const int64_t thread = builder.addThread(process), device = builder.addDevice(process);
    const int64_t stream = builder.addStream(process, device, 7);
    const int64_t communicator = builder.addCommunicator(process, 5, 3, rank, "world");
    for (int64_t sequence = 0; sequence < (rank == 2 ? 1 : 2); ++sequence) {
      const int64_t correlation = builder.newCorrelation();
      builder.addCollective({.process = process,
                             .thread = thread,
                             .communicator = communicator,
                             .startNs = (1 + sequence * 10) * kMs,
                             .sequence = sequence,
                             .externalId = correlation});
      builder.addLink(process, correlation, correlation);
      if (sequence == 0)
        builder.addKernel({process, device, stream, kMs, 2 * kMs, correlation}, "ncclDevKernel_AllReduce");
    }
    builder.addRange(process, thread, kMs, 800 * kMs, "training");
  }
}

}  // namespace plumb::test
