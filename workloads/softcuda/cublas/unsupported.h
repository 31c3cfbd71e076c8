// SPDX-License-Identifier: Apache-2.0
// What the libraries of the software device say about calls that they do not implement.
#pragma once

namespace softcublas {

// Prints "softcuda: <call>: <what> …" on stderr, once per call in a process.
void reportUnsupported(const char* call, const char* what);

}  // namespace softcublas
