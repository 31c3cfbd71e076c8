// SPDX-License-Identifier: Apache-2.0
// What the libraries of the software device say about calls that they do not implement, and the definitions of those
// that they only name: softcuda_stubs() in CMake lists what the headers declare, one line each; a library includes the
// list and has its `softcuda_stub_result(call)` decide what such a call returns.
#pragma once
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace softcuda {

// Prints "softcuda: <call>: <what>; …" on stderr, once per call in a library.
inline void reportUnsupported(const char* call, const char* what = "called") {
  static std::mutex* const mutex = new std::mutex;
  static std::set<std::string>* const seen = new std::set<std::string>;
  const std::lock_guard lock(*mutex);
  if (seen->insert(call).second)
    std::fprintf(stderr, "softcuda: %s: %s; the software device does not implement it\n", call, what);
}

}  // namespace softcuda

// Weak: a real definition elsewhere in the library takes its place. Declared without parameters, which C's calling
// convention allows as long as nobody looks at them; STUB_NUMBER is for functions that return a floating-point number.
#define STUB(NAME) \
  extern "C" __attribute__((weak)) int NAME() { return softcuda_stub_result(#NAME); }
#define STUB_NUMBER(NAME) \
  extern "C" __attribute__((weak)) double NAME() { return softcuda_stub_result(#NAME), 0.0; }
