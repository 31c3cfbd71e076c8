// SPDX-License-Identifier: Apache-2.0
#include "gui/async/trace_data.h"

namespace plumb::gui {

namespace {

// The message of the first part that failed, else "".
std::string addSummary(Trace& trace, TraceData& data) {
  auto breakdowns = breakDown(trace);
  if (!breakdowns.ok()) return breakdowns.error().message;
  data.breakdowns = std::move(breakdowns.value());
  auto steps = findSteps(trace);
  if (!steps.ok()) return steps.error().message;
  data.steps = std::move(steps.value());
  auto collectives = analyzeCollectives(trace);
  if (!collectives.ok()) return collectives.error().message;
  data.collectives = std::move(collectives.value());
  return "";
}

// Reads the timeline with what the run hangs in on it.
Status addTimeline(Trace& trace, TraceData& data, const timeline::Progress& progress) {
  auto loaded = timeline::loadTimeline(trace, progress);
  if (!loaded.ok()) return loaded.error();
  auto contents = findContents(trace);
  if (!contents.ok()) return contents.error();
  data.contents = contents.value();
  if (auto stuck = analyzeStuckCollectives(trace); !stuck.ok()) {
    data.stuckProblem = stuck.error().message;
  } else {
    data.stuck = std::move(stuck.value());
    auto open = findOpenCollectives(trace, data.stuck);
    if (open.ok())
      data.open = std::move(open.value());
    else
      data.stuckProblem = open.error().message;
  }
  auto outOfMemory = findOutOfMemory(trace);
  if (!outOfMemory.ok()) return outOfMemory.error();
  data.outOfMemory = std::move(outOfMemory.value());
  timeline::showOpenCollectives(loaded.value(), data.open);
  data.legend = legendOf(loaded.value());
  data.timeline = std::make_shared<const timeline::Timeline>(std::move(loaded.value()));
  return Unit{};
}

}  // namespace

const Device* TraceData::device(DeviceId id) const {
  for (const Device& device : devices) {
    if (device.id == id) return &device;
  }
  return nullptr;
}

Result<std::shared_ptr<const TraceData>> loadTraceData(const std::string& path, const LoadProgress& progress,
                                                       const LoadParts& parts, const TimelineReady& timelineReady) {
  auto opened = Trace::open(path);
  if (!opened.ok()) return opened.error();
  Trace& trace = opened.value();
  auto data = std::make_shared<TraceData>();
  data->path = path;
  data->info = trace.info();
  data->processes = trace.processes();
  data->devices = trace.devices();
  auto diagnostics = trace.diagnostics();
  if (!diagnostics.ok()) return diagnostics.error();
  data->diagnostics = std::move(diagnostics.value());

  const auto report = [&](double share, const char* what) { return !progress || progress(share, what); };
  const Error cancelled{"Loading was cancelled."};
  const Status timeline =
      addTimeline(trace, *data, [&](double share) { return report(share * 0.7, "reading events"); });
  if (!timeline.ok()) return timeline.error();
  if (timelineReady) {
    auto early = std::make_shared<TraceData>(*data);
    early->isWhole = false;
    timelineReady(std::move(early));
  }
  if (parts.memory) {
    if (!report(0.7, "reading memory")) return cancelled;
    auto memory = analyzeMemory(trace, {}, MemoryDetail::Places);
    if (memory.ok())
      data->memory = std::move(memory.value());
    else
      data->memoryProblem = memory.error().message;
  }
  if (parts.roofline) {
    if (!report(0.85, "computing the roofline")) return cancelled;
    auto rooflines = analyzeRoofline(trace);
    if (rooflines.ok())
      data->rooflines = std::move(rooflines.value());
    else
      data->rooflineProblem = rooflines.error().message;
  }
  if (parts.summary) {
    if (!report(0.93, "adding up")) return cancelled;
    data->summaryProblem = addSummary(trace, *data);
  }
  if (!report(1, "done")) return cancelled;
  return std::shared_ptr<const TraceData>(std::move(data));
}

}  // namespace plumb::gui
