// SPDX-License-Identifier: Apache-2.0
// Nothing can be preloaded into this one.
#include <cstdio>

int main() {
  std::puts("static");
  return 6;
}
