// SPDX-License-Identifier: Apache-2.0
#include "tests/support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace plumb::test {
namespace {

std::string readFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string temporaryFile() {
  std::string path = std::filesystem::temp_directory_path() / "plumb-test-XXXXXX";
  int fd = mkstemp(path.data());
  if (fd < 0) throw std::runtime_error("no temporary file");
  close(fd);
  return path;
}

[[noreturn]] void becomeChild(const Command& command, const std::string& output, const std::string& errors) {
  setpgid(0, 0);
  int null = open("/dev/null", O_RDONLY);
  int out = open(output.c_str(), O_WRONLY | O_TRUNC);
  int err = open(errors.c_str(), O_WRONLY | O_TRUNC);
  dup2(null, 0);
  dup2(out, 1);
  dup2(err, 2);
  if (!command.directory.empty() && chdir(command.directory.c_str()) != 0) _exit(126);
  for (const auto& [name, value] : command.environment) {
    if (value.empty()) {
      unsetenv(name.c_str());
    } else {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

Process::Process(const Command& command)
    : m_command(command), m_outputPath(temporaryFile()), m_errorsPath(temporaryFile()) {
  m_pid = fork();
  if (m_pid == 0) becomeChild(command, m_outputPath, m_errorsPath);
  setpgid(m_pid, m_pid);
}

Process::~Process() {
  if (!m_waited) {
    kill(-m_pid, SIGKILL);
    waitpid(m_pid, nullptr, 0);
  }
  unlink(m_outputPath.c_str());
  unlink(m_errorsPath.c_str());
}

std::string Process::outputSoFar() const { return readFile(m_outputPath); }

Outcome Process::wait() {
  Outcome outcome;
  const auto deadline = std::chrono::steady_clock::now() + m_command.timeout;
  int status = 0;
  while (waitpid(m_pid, &status, WNOHANG) == 0) {
    if (!outcome.timedOut && std::chrono::steady_clock::now() > deadline) {
      outcome.timedOut = true;
      kill(-m_pid, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  m_waited = true;
  if (WIFEXITED(status)) outcome.exitCode = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.output = readFile(m_outputPath);
  outcome.errors = readFile(m_errorsPath);
  return outcome;
}

Outcome run(const Command& command) { return Process(command).wait(); }

std::vector<pid_t> descendants(pid_t root) {
  std::vector<pid_t> found;
  std::vector<pid_t> open = {root};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
    std::error_code ignored;
    for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
      std::ifstream children(task.path() / "children");
      for (pid_t child = 0; children >> child;) {
        found.push_back(child);
        open.push_back(child);
      }
    }
  }
  return found;
}

TemporaryFolder::TemporaryFolder() {
  m_path = std::filesystem::temp_directory_path() / "plumb-test-XXXXXX";
  if (mkdtemp(m_path.data()) == nullptr) throw std::runtime_error("no temporary folder");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(m_path, ignored);
}

}  // namespace plumb::test
