// SPDX-License-Identifier: Apache-2.0
// The columns that the tables of device work (kernel, memory_copy, memory_set) share.
#pragma once
#include <cstdint>

#include "collector/schema/rows.h"

namespace plumb::import {

struct GpuWorkColumns {
  int64_t process = 0, device = 0, stream = 0;
  int64_t start = 0, duration = 0;  // ns
  int64_t correlation = 0;
  int64_t flags = 0;
};

// A row with these columns; the others are 0, or null.
template <class Row>
[[nodiscard]] Row gpuRow(int64_t id, const GpuWorkColumns& work) {
  Row row{};
  row.id = id;
  row.process_id = work.process;
  row.device_id = work.device;
  row.stream_id = work.stream;
  row.start_ns = work.start;
  row.duration_ns = work.duration;
  row.correlation = work.correlation;
  row.flags = work.flags;
  return row;
}

}  // namespace plumb::import
