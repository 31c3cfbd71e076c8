// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/interposed.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "collector/agent/attach.h"
#include "collector/agent/plugin_host.h"
#include "collector/agent/text_buffer.h"

#define PLUMB_HIDDEN __attribute__((visibility("hidden")))

// Where each exported function jumps to; in the beginning its own plumbFirst_, which asks plumbResolveInterposed.
#define PLUMB_INTERPOSED(library, function)             \
  extern "C" PLUMB_HIDDEN char plumbFirst_##function[]; \
  extern "C" PLUMB_HIDDEN void* plumbSlot_##function;   \
  constinit void* plumbSlot_##function = plumbFirst_##function;
#include "collector/api/interposed.def"
#undef PLUMB_INTERPOSED

// The signatures differ and are the library's business, so the exports are jumps that leave every register and the
// stack as they are.
#if defined(__x86_64__)
#define PLUMB_INTERPOSED(library, function) \
  asm(".pushsection .text\n"                \
      ".globl " #function                   \
      "\n"                                  \
      ".type " #function                    \
      ", @function\n"                       \
      ".p2align 4\n" #function              \
      ":\n"                                 \
      "  endbr64\n"                         \
      "  jmp *plumbSlot_" #function         \
      "(%rip)\n"                            \
      ".size " #function ", . - " #function \
      "\n"                                  \
      ".hidden plumbFirst_" #function       \
      "\n"                                  \
      ".globl plumbFirst_" #function        \
      "\n"                                  \
      "plumbFirst_" #function               \
      ":\n"                                 \
      "  endbr64\n"                         \
      "  leaq plumbSlot_" #function         \
      "(%rip), %r11\n"                      \
      "  jmp plumbFirstCall\n"              \
      ".popsection\n");
#include "collector/api/interposed.def"
#undef PLUMB_INTERPOSED

// r11 is the slot. Saves what may hold an argument, asks where to go, and goes there.
asm(".pushsection .text\n"
    ".p2align 4\n"
    ".type plumbFirstCall, @function\n"
    "plumbFirstCall:\n"
    "  pushq %rdi\n  pushq %rsi\n  pushq %rdx\n  pushq %rcx\n  pushq %r8\n  pushq %r9\n  pushq %rax\n  pushq %r10\n"
    "  subq $136, %rsp\n"  // the return address, 8 registers and this: a multiple of 16
    "  movups %xmm0, 0(%rsp)\n  movups %xmm1, 16(%rsp)\n  movups %xmm2, 32(%rsp)\n  movups %xmm3, 48(%rsp)\n"
    "  movups %xmm4, 64(%rsp)\n  movups %xmm5, 80(%rsp)\n  movups %xmm6, 96(%rsp)\n  movups %xmm7, 112(%rsp)\n"
    "  movq %r11, %rdi\n"
    "  call plumbResolveInterposed\n"
    "  movq %rax, %r11\n"
    "  movups 0(%rsp), %xmm0\n  movups 16(%rsp), %xmm1\n  movups 32(%rsp), %xmm2\n  movups 48(%rsp), %xmm3\n"
    "  movups 64(%rsp), %xmm4\n  movups 80(%rsp), %xmm5\n  movups 96(%rsp), %xmm6\n  movups 112(%rsp), %xmm7\n"
    "  addq $136, %rsp\n"
    "  popq %r10\n  popq %rax\n  popq %r9\n  popq %r8\n  popq %rcx\n  popq %rdx\n  popq %rsi\n  popq %rdi\n"
    "  jmp *%r11\n"
    ".size plumbFirstCall, . - plumbFirstCall\n"
    ".popsection\n");
#elif defined(__aarch64__)
#define PLUMB_INTERPOSED(library, function)         \
  asm(".pushsection .text\n"                        \
      ".globl " #function                           \
      "\n"                                          \
      ".type " #function                            \
      ", %function\n"                               \
      ".p2align 4\n" #function                      \
      ":\n"                                         \
      "  hint #34\n"                                \
      "  adrp x16, plumbSlot_" #function            \
      "\n"                                          \
      "  ldr x16, [x16, :lo12:plumbSlot_" #function \
      "]\n"                                         \
      "  br x16\n"                                  \
      ".size " #function ", . - " #function         \
      "\n"                                          \
      ".hidden plumbFirst_" #function               \
      "\n"                                          \
      ".globl plumbFirst_" #function                \
      "\n"                                          \
      "plumbFirst_" #function                       \
      ":\n"                                         \
      "  hint #34\n"                                \
      "  adrp x17, plumbSlot_" #function            \
      "\n"                                          \
      "  add x17, x17, :lo12:plumbSlot_" #function  \
      "\n"                                          \
      "  b plumbFirstCall\n"                        \
      ".popsection\n");
#include "collector/api/interposed.def"
#undef PLUMB_INTERPOSED

// x17 is the slot.
asm(".pushsection .text\n"
    ".p2align 4\n"
    ".type plumbFirstCall, %function\n"
    "plumbFirstCall:\n"
    "  stp x29, x30, [sp, #-224]!\n"
    "  mov x29, sp\n"
    "  stp x0, x1, [sp, #16]\n  stp x2, x3, [sp, #32]\n  stp x4, x5, [sp, #48]\n  stp x6, x7, [sp, #64]\n"
    "  str x8, [sp, #80]\n"
    "  stp q0, q1, [sp, #96]\n  stp q2, q3, [sp, #128]\n  stp q4, q5, [sp, #160]\n  stp q6, q7, [sp, #192]\n"
    "  mov x0, x17\n"
    "  bl plumbResolveInterposed\n"
    "  mov x16, x0\n"
    "  ldp q0, q1, [sp, #96]\n  ldp q2, q3, [sp, #128]\n  ldp q4, q5, [sp, #160]\n  ldp q6, q7, [sp, #192]\n"
    "  ldr x8, [sp, #80]\n"
    "  ldp x0, x1, [sp, #16]\n  ldp x2, x3, [sp, #32]\n  ldp x4, x5, [sp, #48]\n  ldp x6, x7, [sp, #64]\n"
    "  ldp x29, x30, [sp], #224\n"
    "  br x16\n"
    ".size plumbFirstCall, . - plumbFirstCall\n"
    ".popsection\n");
#else
#error "collector/agent/interposed.cpp has no jump for this processor; add one."
#endif

namespace plumb::agent {
namespace {

struct Function {
  const char* library;  // the stem of its soname
  const char* name;
  void** slot;
  std::atomic<void*> real;
};

#define PLUMB_INTERPOSED(library, function) {library, #function, &plumbSlot_##function, nullptr},
constinit Function s_functions[] = {
#include "collector/api/interposed.def"
};
#undef PLUMB_INTERPOSED

// CUBLAS_STATUS_NOT_INITIALIZED: somebody calls a function of a library that is not there.
int missingFunction() noexcept { return 1; }

void* findReal(const Function& function) noexcept {
  if (void* next = dlsym(RTLD_NEXT, function.name); next != nullptr) {
    return next;
  }
  // Loaded by dlopen with RTLD_LOCAL, as by Python: not in the order that RTLD_NEXT searches.
  for (const char* version : {".13", ".12"}) {
    char soname[64];
    TextBuffer(soname).add(function.library).add(version);
    if (void* library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD); library != nullptr) {
      void* address = dlsym(library, function.name);
      dlclose(library);
      if (address != nullptr) {
        return address;
      }
    }
  }
  return nullptr;
}

void* realOf(Function& function) noexcept {
  void* known = function.real.load(std::memory_order_acquire);
  if (known == nullptr) {
    known = findReal(function);
    function.real.store(known, std::memory_order_release);
  }
  return known;
}

thread_local constinit bool t_resolving = false;

}  // namespace

void* realFunction(const char* name) noexcept {
  for (Function& function : s_functions) {
    if (std::strcmp(function.name, name) == 0) {
      return realOf(function);
    }
  }
  return nullptr;
}

}  // namespace plumb::agent

// Called by the first call of an interposed function; never null.
extern "C" PLUMB_HIDDEN __attribute__((used)) void* plumbResolveInterposed(void** slot) noexcept {
  using namespace plumb::agent;
  for (Function& function : s_functions) {
    if (function.slot != slot) {
      continue;
    }
    void* real = realOf(function);
    if (real == nullptr) {
      return reinterpret_cast<void*>(missingFunction);
    }
    if (t_resolving) {
      return real;
    }
    t_resolving = true;
    void* target = ensureAttached() ? plugins::replacement(function.name) : nullptr;
    t_resolving = false;
    target = target == nullptr ? real : target;
    __atomic_store_n(slot, target, __ATOMIC_RELEASE);
    return target;
  }
  return reinterpret_cast<void*>(missingFunction);
}
