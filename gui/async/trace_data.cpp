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

}  // namespace

const Device* TraceData::device(DeviceId id) const {
  for (const Device& device : devices) {
    if (device.id == id) return &device;
  }
  return nullptr;
}

Result<std::shared_ptr<const TraceData>> loadTraceData(const std::string& path, const LoadProgress& progress,
                                                       const LoadParts& parts) {
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
  auto loaded = timeline::loadTimeline(trace, [&](double share) { return report(share * 0.7, "reading events"); });
  if (!loaded.ok()) return loaded.error();
  data->timeline = std::make_shared<const timeline::Timeline>(std::move(loaded.value()));
  if (parts.memory) {
    if (!report(0.7, "reading memory")) return cancelled;
    auto memory = analyzeMemory(trace);
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
