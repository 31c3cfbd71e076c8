// SPDX-License-Identifier: Apache-2.0
#include "plugins/cupti/cupti_table.h"

#include <dlfcn.h>

namespace plumb::cupti {

const char* bindTable(void* library, CuptiTable& table) noexcept {
  const char* missing = nullptr;
#define PLUMB_BIND_OPTIONAL(member, symbol) \
  table.member = reinterpret_cast<decltype(table.member)>(dlsym(library, #symbol));
#define PLUMB_BIND_REQUIRED(member, symbol) \
  PLUMB_BIND_OPTIONAL(member, symbol)       \
  if (!table.member && !missing) {          \
    missing = #symbol;                      \
  }
  PLUMB_CUPTI_FUNCTIONS(PLUMB_BIND_REQUIRED, PLUMB_BIND_OPTIONAL)
#undef PLUMB_BIND_REQUIRED
#undef PLUMB_BIND_OPTIONAL
  return missing;
}

}  // namespace plumb::cupti
