// SPDX-License-Identifier: Apache-2.0
// What memory was for, where nothing says it: by its lifetime against the phases of training.
//   parameter        there before the first step and until the end of the last
//   optimizer state  from the first optimizer phase until the end of the last step
//   gradient         from a backward phase to beyond it
//   activation       from a forward into a backward phase, or within one backward phase
//   workspace        within one forward or optimizer phase
//   input            from a step before its forward phase, to the end of the next step at most
// Everything else stays unattributed, and all of it in a trace without steps. Gradients and optimizer state that are
// there before the first step are taken for parameters: the rule cannot know better, so its accuracy is told wherever
// declarations are there to compare it with.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "analyzer/analyses/memory_history.h"

namespace plumb {

struct TrainingPhases {
  std::vector<Interval> steps, forward, backward, optimizer;  // each in order of start, none nested in another
};

// By process. Steps are the view `steps`; phases are ranges called forward, backward, optimizer (and what torch calls
// them); without a range, backward is where autograd's operators ran and forward what of a step is before that.
[[nodiscard]] Result<std::unordered_map<ProcessId, TrainingPhases>> loadPhases(Trace& trace);

// Pure. `end` none: it lives on.
[[nodiscard]] MemoryCategory inferCategory(TimePoint start, std::optional<TimePoint> end, const TrainingPhases& phases);

// Sets MemoryBlock::inferred.
[[nodiscard]] Status inferCategories(Trace& trace, std::vector<ProcessMemory>& processes);

// How the rule would have done on what is declared: regions as if they were allocations. The filter keeps those that
// were declared inside it.
struct InferenceAccuracy {
  ProcessId process;
  std::optional<int64_t> rank;
  struct Category {
    int64_t declaredBytes = 0;  // of all declared regions, each once
    int64_t rightBytes = 0;     // of them those that the rule puts into the same category
    int64_t inferredBytes = 0;  // what the rule puts into this category
  };
  std::array<Category, kMemoryCategoryCount> categories;
};
[[nodiscard]] Result<std::vector<InferenceAccuracy>> measureInference(Trace& trace, const Filter& filter);

}  // namespace plumb
