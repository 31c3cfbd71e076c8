// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/scenes.h"

#include <QStringList>
#include <algorithm>
#include <tuple>

#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {

QString processText(const TraceData& data, ProcessId id) {
  for (const plumb::Process& process : data.processes) {
    if (process.id == id) return toQString(process.label());
  }
  return QStringLiteral("process %1").arg(id.value());
}

bool hasTimes(const TraceData& data, ProcessId process) {
  return std::ranges::none_of(data.diagnostics, [&](const Diagnostic& diagnostic) {
    return diagnostic.code == "no_time" && diagnostic.lane == "import" &&
           (!diagnostic.process || diagnostic.process == process);
  });
}

QString untimedNote(const TraceData& data) {
  QStringList without;
  for (const plumb::Process& process : data.processes) {
    if (!hasTimes(data, process.id)) without << toQString(process.label());
  }
  if (without.isEmpty()) return {};
  constexpr qsizetype kMostNamed = 4;
  if (without.size() > kMostNamed) without = without.mid(0, kMostNamed) << QStringLiteral("…");
  return QStringLiteral("The file holds no times of %1: events stand in their order, a microsecond each.")
      .arg(without.join(QStringLiteral(", ")));
}

QString placeOf(const timeline::MainPart& part) {
  return part.isOfDeviceWork ? QStringLiteral("where most of the devices' work is")
                             : QStringLiteral("where most events are");
}

QString outsideNote(const TraceData& data) {
  const auto& [window, before, after, isOfDeviceWork] = data.mainPart;
  if (before + after == 0 || !data.open.empty()) return {};  // of a run that hangs all is shown
  const timeline::Window& extent = data.timeline->extent;
  QStringList parts;
  for (const auto& [count, ns, side] : {std::tuple{before, window.startNs - extent.startNs, "before"},
                                        std::tuple{after, extent.endNs - window.endNs, "after"}}) {
    if (count == 0) continue;
    parts << QStringLiteral("%L1 %2 up to %3 %4 it")
                 .arg(count)
                 .arg(QLatin1String(count == 1 ? "event" : "events"), formatDuration(static_cast<double>(ns)),
                      QLatin1String(side));
  }
  return QStringLiteral("At first the timeline shows %1, %2; far away: %3 (Home shows all).")
      .arg(formatDuration(static_cast<double>(window.endNs - window.startNs)), placeOf(data.mainPart),
           parts.join(QStringLiteral(", ")));
}

MemoryScene memoryScene(const TraceData& data, const DeviceMemory& memory) {
  MemoryScene scene;
  scene.memory = &memory;
  const Device* device = memory.device ? data.device(*memory.device) : nullptr;
  scene.title = processText(data, memory.process);
  if (device) scene.title += QStringLiteral(" · device %1").arg(device->ordinal);
  if (device && !device->name.empty()) scene.title += QStringLiteral(", ") + toQString(device->name);
  if (device && device->memoryBytes > 0) {
    scene.capacityBytes = device->memoryBytes;
    // The software device has no memory of its own.
    const QString bytes = formatBytes(static_cast<double>(device->memoryBytes));
    scene.capacityText = device->isSoftware ? QStringLiteral("host memory, at most %1 of it").arg(bytes)
                                            : QStringLiteral("capacity %1").arg(bytes);
    scene.title += QStringLiteral(" · ") + scene.capacityText;
  }
  if (!memory.hasDeclarations) scene.title += QStringLiteral(" · the program named no memory");
  for (const OutOfMemory& moment : data.outOfMemory) {
    if (isOf(moment, memory)) scene.outOfMemoryNs.push_back(static_cast<double>(moment.time.ns()));
  }
  if (!hasTimes(data, memory.process)) scene.axis = MemoryAxis::kEvents;
  for (const timeline::Step& step : data.timeline->steps) {
    if (step.processId == memory.process.value()) scene.steps.push_back(step);
  }
  double start = static_cast<double>(data.timeline->extent.startNs);
  double end = static_cast<double>(data.timeline->extent.endNs);
  if (!memory.points.empty()) {
    // The last point only repeats the state at the end of the recording, which can be long after the last event.
    const size_t changes = memory.points.size() > 1 ? memory.points.size() - 1 : 1;
    const auto first = static_cast<double>(memory.points.front().time.ns());
    const auto last = static_cast<double>(memory.points[changes - 1].time.ns());
    if (data.timeline->sliceCount == 0) {
      start = first;
      end = static_cast<double>(memory.points.back().time.ns());
    }
    start = std::min(start, first);
    end = std::max(end, last);
    if (scene.axis == MemoryAxis::kEvents && first == last) scene.axis = MemoryAxis::kOneState;
  }
  scene.span = {start, std::max(end, start + kShortestSpanNs)};
  return scene;
}

TimeSpan wholeSpan(const TraceData& data) {
  const timeline::Timeline& all = *data.timeline;
  TimeSpan whole{static_cast<double>(all.extent.startNs), static_cast<double>(all.extent.endNs)};
  bool isEmpty = all.sliceCount == 0;
  for (const DeviceMemory& memory : data.memory.devices) {
    if (memory.points.empty()) continue;
    const TimeSpan span = memoryScene(data, memory).span;
    whole = isEmpty ? span : TimeSpan{std::min(whole.startNs, span.startNs), std::max(whole.endNs, span.endNs)};
    isEmpty = false;
  }
  return {whole.startNs, std::max(whole.endNs, whole.startNs + 1)};
}

}  // namespace plumb::gui
