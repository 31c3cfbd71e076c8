// SPDX-License-Identifier: Apache-2.0
#include "workloads/lessons/faults/progress_board.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace plumb::lessons {
namespace {

constexpr const char* kVariable = "PLUMB_LESSON_PROGRESS";  // the descriptor that the ranks inherit

}  // namespace

void ProgressBoard::create() {
  const int descriptor = memfd_create("progress", 0);  // survives exec
  if (descriptor < 0 || ftruncate(descriptor, sizeof(Shared)) != 0)
    throw std::runtime_error("shared memory for the ranks cannot be made");
  setenv(kVariable, std::to_string(descriptor).c_str(), 1);
}

ProgressBoard::ProgressBoard(int rank, int ranks) : m_rank(rank), m_ranks(ranks) {
  const char* inherited = std::getenv(kVariable);
  if (!inherited) m_ranks = 0;
  const int flags = inherited ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS;
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, flags, inherited ? std::atoi(inherited) : -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error(std::string(kVariable) + " names no shared memory of the ranks");
  m_shared = static_cast<Shared*>(memory);  // zeros are its initial state
}

ProgressBoard::~ProgressBoard() { munmap(m_shared, sizeof(Shared)); }

uint32_t ProgressBoard::enter() { return m_shared->entered[m_rank]++; }

std::vector<int> ProgressBoard::missingIn(uint32_t number) const {
  std::vector<int> missing;
  for (int rank = 0; rank < m_ranks; ++rank)
    if (m_shared->entered[rank] <= number) missing.push_back(rank);
  return missing;
}

}  // namespace plumb::lessons
