// SPDX-License-Identifier: Apache-2.0
// Tells whether a signal that reached the launcher was sent to its whole process group: then the command, which is in that
// group, has it already and must not get it twice. A child in the same group reports the signals that it receives itself.
#pragma once
#include <sys/types.h>

#include <chrono>

namespace plumb::launcher {

class GroupWitness {
 public:
  // The signals that it is asked about must be blocked in the calling process. Without a child (no more processes) it never
  // saw anything.
  GroupWitness();
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  // True when the witness has received the signal, too. Waits for its word at most so long. One call per received signal.
  [[nodiscard]] bool saw(int signal, std::chrono::milliseconds patience);

 private:
  pid_t m_pid = -1;
  int m_reports = -1;
};

}  // namespace plumb::launcher
