// SPDX-License-Identifier: Apache-2.0
// Which columns of a report's table a terminal has room for, and how long its texts may be.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace plumb::cli {

struct FitColumn {
  std::string name;              // as the report calls it
  size_t header = 0, width = 0;  // characters of the header; of the longest cell or the header
  bool isText = false;
  bool isShown = true;
};

struct TableFit {
  std::vector<bool> isShown;
  std::vector<size_t> longest;  // characters that a cell may have; of a text that is wrapped a line of it
};

// Sentences come last: a column `message` goes on in further lines (isWrapped), a long `reason` is left out
// beside a `state`. Other long texts are cut first, down to 24 characters, then the columns that say least are left
// out: spread, the pid beside a rank, where a number comes from, extremes, means, medians, then from the right numbers,
// texts and shares, but never what a row is about or its main number. Of what is left texts are cut further. Pure.
[[nodiscard]] TableFit fitTable(const std::vector<FitColumn>& columns, size_t most);

// Whether texts of the column go on in further lines instead of being cut: sentences.
[[nodiscard]] bool isWrapped(const FitColumn& column);

// Characters of a line on standard output: of the terminal, COLUMNS, or 160.
[[nodiscard]] size_t lineWidth();

}  // namespace plumb::cli
