// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/source_end.h"

namespace plumb::import {

void finishSource(SourceContext& context, Registry& registry, const Losses& losses, const SourceEnd& end,
                  SourceResult& result) {
  result.processes = {end.process};
  result.originNs = end.originNs.value_or(0);
  if (end.originNs) result.firstNs = *end.originNs;
  RunFacts facts;
  facts.rank = result.rank;
  facts.worldSize = result.worldSize;
  facts.source = context.name;
  registry.write(facts, 0, end.lastNs);
  losses.write(context.file, end.process, context.name, result);
  if (end.problem) noteCut(context, end.process, *end.problem, result);
}

}  // namespace plumb::import
