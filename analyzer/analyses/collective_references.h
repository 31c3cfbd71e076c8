// SPDX-License-Identifier: Apache-2.0
// What a collective could reach: a benchmark (nccl-tests) in the file, else the network roof of its devices.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analyses/roofline.h"
#include "analyzer/trace/trace.h"

namespace plumb {

struct CollectiveReference {
  double busbwBytesPerSecond = 0;
  std::string source;  // for the user: "nccl-tests all_reduce.txt, 8 ranks of NVIDIA A100", "measured network roof"
};

class CollectiveReferences {
 public:
  [[nodiscard]] static Result<CollectiveReferences> load(Trace& trace);

  // A benchmark of the same operation and number of ranks, at this size: its duration is interpolated linearly between
  // the sizes around it; beyond its ends the bandwidth of the end holds. Of several series the fastest counts, because
  // that is what the machine can do. Without one the smallest network roof of the devices, which inside a host is the
  // link between them; none: no reference.
  [[nodiscard]] std::optional<CollectiveReference> find(std::string_view operation, int64_t rankCount, int64_t bytes,
                                                        int64_t communicatorHash = 0) const;
  // Why none of the benchmarks in the file counts for it: "nccl-tests measured this with 8 ranks, not 4"; "" when one
  // does, or the file has none.
  [[nodiscard]] std::string whyNoBenchmark(std::string_view operation, int64_t rankCount) const;

 private:
  struct Point {
    int64_t bytes;
    double duration, busbw;  // seconds, bytes/s
  };
  struct Series {
    std::string source, operation;
    int64_t rankCount = 0;
    std::vector<Point> points;  // by size
  };
  static double busbwAt(const Series& series, int64_t bytes);

  std::vector<Series> m_series;
  std::vector<std::vector<Roof>> m_devices;  // roofs of each
  std::map<int64_t, int64_t> m_hosts;        // of a communicator, by its hash; none: not told
};

}  // namespace plumb
