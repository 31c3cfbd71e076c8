// SPDX-License-Identifier: Apache-2.0
// How libnccl defines its entry points: pnccl… is the function, nccl… a weak alias of it, so that a profiler may
// interpose the one and call the other, as with NCCL.
#pragma once
#include <nccl.h>

#define SOFTNCCL_API(RESULT, NAME, ARGUMENTS)                                                      \
  extern "C" __attribute__((visibility("default"))) RESULT p##NAME ARGUMENTS;                      \
  extern "C" __attribute__((visibility("default"), weak, alias("p" #NAME))) RESULT NAME ARGUMENTS; \
  RESULT p##NAME ARGUMENTS
