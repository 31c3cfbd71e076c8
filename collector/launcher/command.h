// SPDX-License-Identifier: Apache-2.0
// Runs the user's command as if the launcher were not there.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "collector/schema/result.h"

namespace plumb::launcher {

// From construction to destruction the launcher's own signals are held back, so that the command decides what a signal
// means. Ctrl+C reaches it by itself, being in the terminal's foreground group with us; what is sent to us alone is
// passed on.
class CommandRun {
 public:
  CommandRun();
  ~CommandRun();
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;

  // Starts path with arguments in this terminal and process group, with the environment ("NAME=value").
  [[nodiscard]] Status start(const std::string& path, const std::vector<std::string>& arguments,
                             const std::vector<std::string>& environment);
  // Passes signals on until the command has ended; its status as waitpid gives it.
  [[nodiscard]] int wait();
  // After wait(): has somebody asked us to end since (Ctrl+C, SIGTERM)?
  [[nodiscard]] bool interrupted();

 private:
  pid_t m_pid = -1;
  struct Mask;
  Mask* m_before;
};

// Ends this process the way a waitpid status says: with the same exit code, or by the same signal.
[[noreturn]] void endLike(int status);

}  // namespace plumb::launcher
