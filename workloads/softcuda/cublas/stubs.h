// SPDX-License-Identifier: Apache-2.0
// Weak definitions of the calls that are not implemented: they name themselves once and return "not supported". A real
// definition elsewhere in the library takes their place.
#pragma once

extern "C" int softcublas_unimplemented(const char* call);

#define STUB(NAME) \
  extern "C" __attribute__((weak)) int NAME() { return softcublas_unimplemented(#NAME); }
