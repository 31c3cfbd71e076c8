// SPDX-License-Identifier: Apache-2.0
// Fibers for the kernel engine: a stack each, switched by hand. Not copied, not moved between CPU threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/softcuda/kernels/registration.h"

namespace softcuda {

struct Fiber {
  void* stackPointer = nullptr;  // where it goes on
  std::byte* stack = nullptr;    // lowest usable byte; null: the CPU thread's own stack
  Fiber* nextFree = nullptr;
  void* sanitizerState = nullptr;
  // The CUDA thread that waits on this fiber.
  uint3 threadIndex{};
  uint32_t thread = 0;
};

// Owns the stacks of one CPU thread. Each has an inaccessible page below it, so that an overflow faults.
class FiberPool {
 public:
  // entry is called on the new fiber and never returns.
  explicit FiberPool(void (*entry)());
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  Fiber* take();  // ready to run entry, or to go on where it was given back; null: no memory
  void giveBack(Fiber* fiber);
  void resetAll();  // every fiber becomes free again, whatever it was doing

 private:
  struct Chunk {
    std::byte* memory;
    std::unique_ptr<Fiber[]> fibers;
  };
  bool grow();
  void prepare(Fiber& fiber, std::size_t number);

  void (*m_entry)();
  std::vector<Chunk> m_chunks;
  Fiber* m_free = nullptr;
};

void switchFiber(Fiber& from, Fiber& to);
// To be called first thing by a fiber's entry.
void fiberStarted();

}  // namespace softcuda
