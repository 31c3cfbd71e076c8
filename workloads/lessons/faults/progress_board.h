// SPDX-License-Identifier: Apache-2.0
// Shared memory in which every rank of one machine counts the collectives that it has entered: what a watchdog needs to
// name the rank that all others wait for.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

namespace plumb::lessons {

class ProgressBoard {
 public:
  // In the process that starts the ranks, before it does: they inherit the board. Throws std::runtime_error.
  static void create();
  // In a rank. Without create() the board is this process's own, and no rank is ever behind.
  ProgressBoard(int rank, int ranks);
  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  // Called before each collective; returns its number, from 0.
  uint32_t enter();
  // Ranks that have not entered the collective of that number.
  [[nodiscard]] std::vector<int> missingIn(uint32_t number) const;
  void giveUp() { m_shared->givenUp = true; }
  [[nodiscard]] bool givenUp() const { return m_shared->givenUp; }

 private:
  static constexpr int kRanks = 64;
  struct Shared {
    std::atomic<bool> givenUp;
    std::atomic<uint32_t> entered[kRanks];
  };

  int m_rank;
  int m_ranks;
  Shared* m_shared;
};

}  // namespace plumb::lessons
