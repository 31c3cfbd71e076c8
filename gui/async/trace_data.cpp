// SPDX-License-Identifier: Apache-2.0
#include "gui/async/trace_data.h"

#include <algorithm>

#include "analyzer/analyses/windows.h"
#include "analyzer/intervals/intervals.h"

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
  if (loaded.value().steps.empty()) data.mainPart = timeline::mainPart(loaded.value());
  data.timeline = std::make_shared<const timeline::Timeline>(std::move(loaded.value()));
  return Unit{};
}

// From the first start to the last end of the times that the filter leaves, on the host and on devices.
Result<Interval> askedTime(Trace& trace, const Filter& filter) {
  const auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  std::vector<Interval> hulls;
  for (const ProcessWindows& window : windows.value()) {
    for (const IntervalSet* set : {&window.host, &window.gpu}) hulls.push_back(set->hull());
  }
  const Interval asked = IntervalSet::unionOf(std::move(hulls)).hull();
  if (asked.empty())
    return Error{"What --step, --range, --from and --to ask for have no time in common: leave one of them out."};
  return asked;
}

// Of the time that was asked for, if any. What was live at the last change in it stays so until its end.
void addMemory(Trace& trace, TraceData& data, const std::optional<int64_t>& rank) {
  Filter filter;
  if (data.asked) {
    filter.rank = rank;
    filter.from = data.asked->start;
    filter.to = data.asked->end;
  }
  auto memory = analyzeMemory(trace, filter, MemoryDetail::Places);
  if (!memory.ok()) {
    data.memoryProblem = memory.error().message;
    return;
  }
  data.memory = std::move(memory.value());
  if (!data.asked) return;
  for (DeviceMemory& device : data.memory.devices) {
    const plumb::Process* process = trace.process(device.process);
    TimePoint end(data.timeline->extent.endNs);
    if (process && process->end) end = std::max(end, *process->end);
    end = std::min(end, data.asked->end);
    if (device.points.empty() || device.points.back().time >= end) continue;
    device.points.push_back(device.points.back());
    device.points.back().time = end;
  }
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

  if (const Status known = checkFilter(trace, parts.filter); !known.ok()) return known.error();
  if (!parts.filter.isWholeTime()) {
    const auto asked = askedTime(trace, parts.filter);
    if (!asked.ok()) return asked.error();
    data->asked = asked.value();
  }
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
    addMemory(trace, *data, parts.filter.rank);
  }
  if (parts.roofline) {
    if (!report(0.85, "computing the roofline")) return cancelled;
    auto rooflines = analyzeRoofline(trace, data->asked ? parts.filter : Filter());
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
