// SPDX-License-Identifier: Apache-2.0
#include "plugins/cublas/cublas_table.h"

#include <dlfcn.h>

namespace plumb::cublas {

void* siblingOf(void* function, const char* name) noexcept {
  Dl_info info{};
  if (!function || dladdr(function, &info) == 0 || !info.dli_fname) {
    return nullptr;
  }
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) {
    return dlsym(RTLD_DEFAULT, name);  // the main program itself: linked statically
  }
  void* address = dlsym(library, name);
  dlclose(library);
  return address;
}

}  // namespace plumb::cublas
