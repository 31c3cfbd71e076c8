// SPDX-License-Identifier: Apache-2.0
// A recorder that the launcher has started, and the connection that controls it.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "collector/schema/result.h"
#include "collector/transport/protocol.h"

namespace plumb::launcher {

// Owns the session's directory until the recorder is up (which removes it at its end), and the control connection; the
// recorder goes on by itself if this is destroyed, and ends when the last target is gone.
class RecorderProcess {
 public:
  struct Options {
    std::string program;  // plumb-recorder
    std::string output;   // absolute
    std::string command;  // for people
  };

  // Comes back when the recorder is writing its file. Error: nothing is left behind.
  [[nodiscard]] static Result<RecorderProcess> start(const Options& options);

  RecorderProcess(RecorderProcess&& other) noexcept;
  RecorderProcess& operator=(RecorderProcess&&) = delete;
  RecorderProcess(const RecorderProcess&) = delete;
  RecorderProcess& operator=(const RecorderProcess&) = delete;
  ~RecorderProcess();

  [[nodiscard]] const std::string& sessionDirectory() const { return m_directory; }
  [[nodiscard]] pid_t pid() const { return m_pid; }

  // The command has ended: asks for the file to be completed.
  void requestFinish();
  // Waits for the outcome; empty when patience ran out or the recorder died (alive() tells which).
  [[nodiscard]] std::optional<Result<transport::Summary>> waitForSummary(std::chrono::milliseconds patience);
  [[nodiscard]] bool alive();

 private:
  RecorderProcess() = default;
  [[nodiscard]] Status makeDirectory();
  [[nodiscard]] Status launch(const Options& options);
  [[nodiscard]] Status connectControl();
  void cleanUp();

  std::string m_directory;
  pid_t m_pid = -1;
  int m_control = -1;
};

}  // namespace plumb::launcher
