// SPDX-License-Identifier: Apache-2.0
// NVTX's own headers, types only: our code must never call NVTX, and each linkage unit that includes the implementation
// would become one more NVTX client.
#pragma once
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
