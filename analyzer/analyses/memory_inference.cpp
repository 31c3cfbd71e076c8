// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_inference.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/analyses/launched_work.h"

namespace plumb {
namespace {

enum class Phase : uint8_t { None, Forward, Backward, Optimizer };

Phase phaseOf(std::string_view name) {
  if (name.starts_with("Optimizer.step")) return Phase::Optimizer;
  std::string lower;
  for (const char c : name.substr(0, 64)) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower == "forward" || lower == "forward pass" || lower == "fwd") return Phase::Forward;
  if (lower == "backward" || lower == "backward pass" || lower == "bwd") return Phase::Backward;
  if (lower == "optimizer" || lower == "optimizer step" || lower == "optimizer.step" || lower == "optim")
    return Phase::Optimizer;
  return Phase::None;
}

// Outermost ranges of each phase.
Status loadRanges(Trace& trace, std::unordered_map<ProcessId, TrainingPhases>& phases) {
  auto rows = trace.query("SELECT process_id, start_ns, duration_ns, name_id FROM main.range WHERE duration_ns > 0");
  if (!rows.ok()) return rows.error();
  std::unordered_map<StringId, Phase> known;
  Statement& row = rows.value();
  while (row.next()) {
    const StringId name = row.id<StringId>(3);
    auto phase = known.find(name);
    if (phase == known.end()) phase = known.emplace(name, phaseOf(trace.text(name))).first;
    if (phase->second == Phase::None || !isUsableTime(row.integer(1), row.integer(2))) continue;
    TrainingPhases& mine = phases[row.id<ProcessId>(0)];
    std::vector<Interval>& list = phase->second == Phase::Forward    ? mine.forward
                                  : phase->second == Phase::Backward ? mine.backward
                                                                     : mine.optimizer;
    list.push_back(intervalOf(row.integer(1), row.integer(2)));
  }
  return row.status();
}

Status loadSteps(Trace& trace, std::unordered_map<ProcessId, TrainingPhases>& phases) {
  auto rows = trace.query("SELECT process_id, start_ns, duration_ns FROM steps");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  while (row.next()) {
    if (row.isNull(2) || !isUsableTime(row.integer(1), row.integer(2))) continue;
    phases[row.id<ProcessId>(0)].steps.push_back(intervalOf(row.integer(1), row.integer(2)));
  }
  return row.status();
}

// In order, without those inside others.
void tidy(std::vector<Interval>& intervals) {
  std::ranges::sort(intervals, [](const Interval& a, const Interval& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  std::vector<Interval> outer;
  for (const Interval& interval : intervals) {
    if (outer.empty() || outer.back().end <= interval.start) outer.push_back(interval);
  }
  intervals = std::move(outer);
}

const Interval* phaseAt(const std::vector<Interval>& intervals, TimePoint time) {
  const auto after = std::ranges::upper_bound(intervals, time, {}, &Interval::start);
  if (after == intervals.begin() || !std::prev(after)->contains(time)) return nullptr;
  return &*std::prev(after);
}

// Optimizer steps that are operators, and backward phases from the operators of autograd: in each step from the first
// to the last.
Status loadOperators(Trace& trace, std::unordered_map<ProcessId, TrainingPhases>& phases) {
  auto rows = trace.query(
      "SELECT o.process_id, o.start_ns, o.duration_ns, o.name_id FROM operator o JOIN main.string s ON s.id = o.name_id"
      " WHERE s.text GLOB 'autograd::engine::evaluate_function*' OR s.text GLOB 'Optimizer.step*'");
  if (!rows.ok()) return rows.error();
  std::unordered_map<ProcessId, std::vector<std::optional<Interval>>> hulls;
  Statement& row = rows.value();
  while (row.next()) {
    const auto mine = phases.find(row.id<ProcessId>(0));
    if (mine == phases.end() || !isUsableTime(row.integer(1), row.integer(2))) continue;
    const Interval time = intervalOf(row.integer(1), row.integer(2));
    if (trace.text(row.id<StringId>(3)).starts_with("Optimizer.step")) {
      mine->second.optimizer.push_back(time);
      continue;
    }
    const std::vector<Interval>& steps = mine->second.steps;
    const Interval* step = phaseAt(steps, time.start);
    if (!step) continue;
    auto& found = hulls[mine->first];
    found.resize(steps.size());
    std::optional<Interval>& hull = found[static_cast<size_t>(step - steps.data())];
    hull = hull ? Interval{std::min(hull->start, time.start), std::max(hull->end, time.end)} : time;
  }
  if (Status status = row.status(); !status.ok()) return status;
  for (const auto& [process, found] : hulls) {
    TrainingPhases& mine = phases[process];
    if (!mine.backward.empty()) continue;
    for (size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) continue;
      mine.backward.push_back(*found[i]);
      if (mine.steps[i].start < found[i]->start) mine.forward.push_back({mine.steps[i].start, found[i]->start});
    }
  }
  return Unit{};
}

}  // namespace

Result<std::unordered_map<ProcessId, TrainingPhases>> loadPhases(Trace& trace) {
  std::unordered_map<ProcessId, TrainingPhases> phases;
  if (const Status loaded = loadSteps(trace, phases); !loaded.ok()) return loaded.error();
  for (auto& [process, mine] : phases) tidy(mine.steps);
  if (const Status loaded = loadRanges(trace, phases); !loaded.ok()) return loaded.error();
  if (const Status loaded = loadOperators(trace, phases); !loaded.ok()) return loaded.error();
  for (auto& [process, mine] : phases) {
    for (std::vector<Interval>* list : {&mine.forward, &mine.backward, &mine.optimizer}) tidy(*list);
  }
  return phases;
}

MemoryCategory inferCategory(TimePoint start, std::optional<TimePoint> end, const TrainingPhases& phases) {
  if (phases.steps.empty()) return MemoryCategory::Unattributed;
  const TimePoint lastEnd = phases.steps.back().end;
  const bool survives = !end || *end >= lastEnd;
  const auto endsIn = [&](const Interval& phase) { return end && *end <= phase.end; };
  if (start < phases.steps.front().start) return survives ? MemoryCategory::Parameter : MemoryCategory::Unattributed;
  if (const Interval* backward = phaseAt(phases.backward, start)) {
    return endsIn(*backward) ? MemoryCategory::Activation : MemoryCategory::Gradient;
  }
  if (const Interval* optimizer = phaseAt(phases.optimizer, start)) {
    if (endsIn(*optimizer)) return MemoryCategory::Workspace;
    const bool isFirst = optimizer == phases.optimizer.data();
    return isFirst && survives ? MemoryCategory::OptimizerState : MemoryCategory::Unattributed;
  }
  if (const Interval* forward = phaseAt(phases.forward, start)) {
    if (endsIn(*forward)) return MemoryCategory::Workspace;
    const bool diesInBackward = end && phaseAt(phases.backward, *end) != nullptr;
    const Interval* step = phaseAt(phases.steps, start);
    return diesInBackward || (step && endsIn(*step)) ? MemoryCategory::Activation : MemoryCategory::Unattributed;
  }
  const Interval* step = phaseAt(phases.steps, start);
  if (!step) return MemoryCategory::Unattributed;
  const auto forward = std::ranges::lower_bound(phases.forward, start, {}, &Interval::start);
  const bool isBeforeForward = forward != phases.forward.end() && forward->start < step->end;
  const bool hasNext = step + 1 != phases.steps.data() + phases.steps.size();
  const bool endsSoon = endsIn(hasNext ? *(step + 1) : *step);
  return isBeforeForward && endsSoon ? MemoryCategory::Input : MemoryCategory::Unattributed;
}

Status inferCategories(Trace& trace, std::vector<ProcessMemory>& processes) {
  const bool isNeeded = std::ranges::any_of(processes, [](const ProcessMemory& memory) {
    return std::ranges::any_of(memory.blocks, [](const MemoryBlock& b) { return b.isOnDevice() && !b.region; });
  });
  if (!isNeeded) return Unit{};
  auto phases = loadPhases(trace);
  if (!phases.ok()) return phases.error();
  for (ProcessMemory& memory : processes) {
    const auto mine = phases.value().find(memory.process);
    if (mine == phases.value().end()) continue;
    for (MemoryBlock& block : memory.blocks) {
      if (!block.isOnDevice() || block.isLump) continue;
      // What is declared only in part is no one tensor.
      if (!block.region) block.inferred = inferCategory(block.start, block.end, mine->second);
    }
  }
  return Unit{};
}

Result<std::vector<InferenceAccuracy>> measureInference(Trace& trace, const Filter& filter) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  auto processes = loadMemory(trace, filter.rank);
  if (!processes.ok()) return processes.error();
  auto phases = loadPhases(trace);
  if (!phases.ok()) return phases.error();
  std::vector<InferenceAccuracy> result;
  for (const ProcessMemory& memory : processes.value()) {
    InferenceAccuracy accuracy{memory.process, memory.rank, {}};
    bool any = false;
    for (const MemoryRegion& region : memory.regions) {
      if (region.category == MemoryCategory::Unattributed || region.category == MemoryCategory::Cached) continue;
      if (!kept.value().keepsOnHost(memory.process, region.start)) continue;
      const MemoryCategory inferred = inferCategory(region.start, region.end, phases.value()[memory.process]);
      InferenceAccuracy::Category& declared = accuracy.categories[static_cast<size_t>(region.category)];
      declared.declaredBytes += region.bytes;
      if (inferred == region.category) declared.rightBytes += region.bytes;
      accuracy.categories[static_cast<size_t>(inferred)].inferredBytes += region.bytes;
      any = true;
    }
    if (any) result.push_back(accuracy);
  }
  return result;
}

}  // namespace plumb
