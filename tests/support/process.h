// SPDX-License-Identifier: Apache-2.0
// Runs real programs for tests.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace plumb::test {

struct Outcome {
  int exitCode = -1;      // of a normal exit; -1 when it was ended by a signal
  int signal = 0;         // that ended it, else 0
  bool timedOut = false;  // it was killed because the time was over
  std::string output;     // standard output
  std::string errors;     // standard error
};

struct Command {
  std::vector<std::string> arguments;              // arguments[0]: the program, looked up in PATH
  std::map<std::string, std::string> environment;  // added to, or replacing, ours; an empty value unsets
  std::string directory;                           // working directory; empty: ours
  std::chrono::seconds timeout{60};                // then SIGKILL to its process group
};

// A running child in its own process group, its output collected in files.
class Process {
 public:
  explicit Process(const Command& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return m_pid; }
  Outcome wait();
  // What it has printed on its standard output so far.
  [[nodiscard]] std::string outputSoFar() const;

 private:
  Command m_command;
  std::string m_outputPath;
  std::string m_errorsPath;
  pid_t m_pid = -1;
  bool m_waited = false;
};

Outcome run(const Command& command);

// The pids of all living descendants of a process, itself excluded.
std::vector<pid_t> descendants(pid_t root);

// A new empty folder, removed with its contents when the object goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return m_path; }
  [[nodiscard]] std::string file(const std::string& name) const { return m_path + "/" + name; }

 private:
  std::string m_path;
};

}  // namespace plumb::test
