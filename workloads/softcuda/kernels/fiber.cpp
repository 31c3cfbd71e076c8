// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/kernels/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace softcuda {
namespace {

constexpr std::size_t kFibersPerChunk = 32;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kStackBytes = 256 * 1024;  // instrumented frames are several times larger
#else
constexpr std::size_t kStackBytes = 64 * 1024;
#endif
constexpr std::size_t kGuardBytes = 4096;
constexpr std::size_t kSlotBytes = kStackBytes + kGuardBytes;

// Stacks lie at a fixed distance, so their tops would all fall into the same few cache sets; these steps spread them.
constexpr std::size_t kColours = 24;
constexpr std::size_t kColourBytes = 320;

}  // namespace

#if defined(__x86_64__)

extern "C" void softcuda_switch_stack(void** save, void* load);
asm(R"(
.text
.p2align 4
.globl softcuda_switch_stack
.hidden softcuda_switch_stack
.type softcuda_switch_stack,@function
softcuda_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size softcuda_switch_stack,.-softcuda_switch_stack
)");

static void switchStack(Fiber& from, Fiber& to) { softcuda_switch_stack(&from.stackPointer, to.stackPointer); }

static void prepareStack(Fiber& fiber, std::byte* top, void (*entry)()) {
  auto** slot = reinterpret_cast<void**>(top);
  *--slot = nullptr;  // the entry's "return address": keeps the stack aligned as after a call
  *--slot = reinterpret_cast<void*>(entry);
  for (int saved = 0; saved < 6; ++saved) *--slot = nullptr;
  fiber.stackPointer = slot;
}

#else  // any other processor: slower, but there

static ucontext_t* contextOf(Fiber& fiber) {
  if (!fiber.stackPointer) fiber.stackPointer = new ucontext_t;
  return static_cast<ucontext_t*>(fiber.stackPointer);
}
static void switchStack(Fiber& from, Fiber& to) { swapcontext(contextOf(from), contextOf(to)); }
static void prepareStack(Fiber& fiber, std::byte* top, void (*entry)()) {
  ucontext_t* context = contextOf(fiber);
  getcontext(context);
  context->uc_stack = {fiber.stack, 0, static_cast<std::size_t>(top - fiber.stack)};
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
}

#endif

void switchFiber(Fiber& from, Fiber& to) {
#if defined(__SANITIZE_THREAD__)
  if (!from.sanitizerState) from.sanitizerState = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.sanitizerState, 0);
#endif
#if defined(__SANITIZE_ADDRESS__)
  static thread_local const void* mainBottom = nullptr;
  static thread_local std::size_t mainBytes = 0;
  if (!mainBottom) {
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    void* bottom = nullptr;
    pthread_attr_getstack(&attributes, &bottom, &mainBytes);
    pthread_attr_destroy(&attributes);
    mainBottom = bottom;
  }
  __sanitizer_start_switch_fiber(&from.sanitizerState, to.stack ? static_cast<const void*>(to.stack) : mainBottom,
                                 to.stack ? kStackBytes : mainBytes);
#endif
  switchStack(from, to);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.sanitizerState, nullptr, nullptr);
#endif
}

void fiberStarted() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

FiberPool::FiberPool(void (*entry)()) : m_entry(entry) {}

FiberPool::~FiberPool() {
  for (Chunk& chunk : m_chunks) {
#if defined(__SANITIZE_THREAD__)
    for (std::size_t i = 0; i < kFibersPerChunk; ++i) __tsan_destroy_fiber(chunk.fibers[i].sanitizerState);
#endif
    munmap(chunk.memory, kFibersPerChunk * kSlotBytes);
  }
}

Fiber* FiberPool::take() {
  if (!m_free && !grow()) return nullptr;
  Fiber* fiber = m_free;
  m_free = fiber->nextFree;
  return fiber;
}

void FiberPool::giveBack(Fiber* fiber) {
  fiber->nextFree = m_free;
  m_free = fiber;
}

bool FiberPool::grow() {
  void* memory = mmap(nullptr, kFibersPerChunk * kSlotBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  Chunk chunk{static_cast<std::byte*>(memory), std::make_unique<Fiber[]>(kFibersPerChunk)};
  const std::size_t before = m_chunks.size() * kFibersPerChunk;
  for (std::size_t i = kFibersPerChunk; i-- > 0;) {
    std::byte* slot = chunk.memory + i * kSlotBytes;
    mprotect(slot, kGuardBytes, PROT_NONE);
    chunk.fibers[i].stack = slot + kGuardBytes;
    prepare(chunk.fibers[i], before + i);
    giveBack(&chunk.fibers[i]);
  }
  m_chunks.push_back(std::move(chunk));
  return true;
}

void FiberPool::prepare(Fiber& fiber, std::size_t number) {
  std::byte* top = fiber.stack + kStackBytes - (number % kColours) * kColourBytes;
  prepareStack(fiber, top, m_entry);
#if defined(__SANITIZE_THREAD__)
  if (!fiber.sanitizerState) fiber.sanitizerState = __tsan_create_fiber(0);
#endif
}

void FiberPool::resetAll() {
  m_free = nullptr;
  for (std::size_t c = m_chunks.size(); c-- > 0;) {
    for (std::size_t i = kFibersPerChunk; i-- > 0;) {
      prepare(m_chunks[c].fibers[i], c * kFibersPerChunk + i);
      giveBack(&m_chunks[c].fibers[i]);
    }
  }
}

}  // namespace softcuda
