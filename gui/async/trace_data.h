// SPDX-License-Identifier: Apache-2.0
// All that the pages show of one trace, read once and then never changed: safe to share between threads.
#pragma once
#include <QString>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/breakdown.h"
#include "analyzer/analyses/collectives.h"
#include "analyzer/analyses/contents.h"
#include "analyzer/analyses/memory.h"
#include "analyzer/analyses/open_collectives.h"
#include "analyzer/analyses/out_of_memory.h"
#include "analyzer/analyses/roofline.h"
#include "analyzer/analyses/steps.h"
#include "analyzer/analyses/stuck_collectives.h"
#include "analyzer/analyses/timeline.h"
#include "analyzer/trace/filter.h"
#include "gui/timeline/legend.h"

namespace plumb::gui {

struct TraceData {
  std::string path;
  TraceInfo info;
  std::vector<plumb::Process> processes;
  std::vector<Device> devices;
  std::vector<Diagnostic> diagnostics;
  Contents contents;
  std::shared_ptr<const timeline::Timeline> timeline;
  timeline::MainPart mainPart;    // of a timeline without steps
  std::optional<Interval> asked;  // the time that LoadParts::filter leaves; none: all of it
  std::vector<LegendEntry> legend;
  StuckAnalysis stuck;               // what the run hangs in
  std::vector<OpenCollective> open;  // and the records of it
  std::vector<OutOfMemory> outOfMemory;
  MemoryAnalysis memory;
  std::vector<DeviceRoofline> rooflines;
  std::vector<DeviceBreakdown> breakdowns;
  std::vector<RankSteps> steps;
  CollectiveAnalysis collectives;
  // Why a part is missing; "" when it is there. One part's failure does not take the others away.
  std::string memoryProblem;
  std::string rooflineProblem;
  std::string summaryProblem;
  std::string stuckProblem;
  // False: the parts below the timeline are still being computed.
  bool isWhole = true;

  [[nodiscard]] const Device* device(DeviceId id) const;
};

// Called with the share done (0 … 1) and what is being done; false cancels.
using LoadProgress = std::function<bool(double, const char*)>;

// What to compute besides the timeline: --render needs only its picture's part.
struct LoadParts {
  bool memory = true;
  bool roofline = true;
  bool summary = true;
  Filter filter = {};  // of memory and roofline
};

// Called when the timeline is there and the other parts are not.
using TimelineReady = std::function<void(std::shared_ptr<const TraceData>)>;

[[nodiscard]] Result<std::shared_ptr<const TraceData>> loadTraceData(const std::string& path,
                                                                     const LoadProgress& progress = {},
                                                                     const LoadParts& parts = {},
                                                                     const TimelineReady& timelineReady = {});

}  // namespace plumb::gui
