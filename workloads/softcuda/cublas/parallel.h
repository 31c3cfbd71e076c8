// SPDX-License-Identifier: Apache-2.0
// Splits one piece of device work over a few CPU threads. The caller takes part, so the work always progresses, also in
// a forked child, where the helper threads no longer exist.
#pragma once
#include <functional>

namespace softcublas {

// Runs body(0) … body(tasks - 1), each once, in any order, on at most `threads` threads; returns when all are done.
// Thread-safe: several streams may call at once.
void parallelFor(int tasks, int threads, const std::function<void(int)>& body);

}  // namespace softcublas
