// SPDX-License-Identifier: Apache-2.0
// OpenBLAS starts one thread per core when it is loaded and takes over how a program's own BLAS is threaded. Ours is a
// private copy (linked statically, hidden) that must stay single-threaded: the GEMM splits its work itself. The linker
// sends that copy's getenv calls here (--wrap=getenv).
#include <cstdlib>
#include <cstring>

extern "C" char* __real_getenv(const char* name);

extern "C" char* __wrap_getenv(const char* name) {
  static char one[] = "1";
  return std::strcmp(name, "OPENBLAS_NUM_THREADS") == 0 ? one : __real_getenv(name);
}
