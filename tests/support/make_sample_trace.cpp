// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "tests/support/trace_builder.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: make_sample_trace FILE [RANKS [LAYERS [STEPS]]]\n");
    return 2;
  }
  plumb::test::SampleOptions options;
  if (argc > 2) options.ranks = std::atoll(argv[2]);
  if (argc > 3) options.layers = std::atoll(argv[3]);
  if (argc > 4) options.steps = std::atoll(argv[4]);
  plumb::test::makeSampleTrace(argv[1], options);
  return 0;
}
