// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QTemporaryDir>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/analyses/timeline_data.h"
#include "tests/support/trace_builder.h"

namespace plumb::test {

// One folder for the files of a test; gone with it.
class Folder {
 public:
  [[nodiscard]] std::string path(const char* name) const { return m_folder.filePath(name).toStdString(); }
  // Creates a file with that content.
  [[nodiscard]] std::string write(const char* name, const QByteArray& content) const;

 private:
  QTemporaryDir m_folder;
};

// The sample trace with 2 ranks, 2 layers and 3 steps.
[[nodiscard]] std::string sampleTrace(const Folder& folder);

// Three ranks, of which rank 2 never calls the second all-reduce; all are killed.
void recordHang(TraceBuilder& builder);

[[nodiscard]] timeline::Slice slice(int64_t start, int64_t duration,
                                    timeline::SliceKind kind = timeline::SliceKind::kKernel, int64_t correlation = -1);

// Slices at random places, possibly overlapping, from a seed; up to marks of no length.
[[nodiscard]] std::vector<timeline::Slice> randomSlices(uint64_t seed, size_t count, int64_t span, int64_t longest);

// One process with a stream per list of slices.
[[nodiscard]] timeline::Timeline timelineOf(const std::vector<std::vector<timeline::Slice>>& streams);

}  // namespace plumb::test
