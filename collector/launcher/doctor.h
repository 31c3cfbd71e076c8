// SPDX-License-Identifier: Apache-2.0
// plumb doctor: what can be recorded on this machine, and what to do about the rest.
#pragma once

namespace plumb::launcher {

// Prints one line per check. 0: programs can be recorded (perhaps not every lane); 1: they cannot.
[[nodiscard]] int runDoctor();

}  // namespace plumb::launcher
