// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/launcher.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <thread>

namespace plumb::fsdp {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kGrace{3};      // for the other ranks to fail by themselves
constexpr std::chrono::seconds kLastWords{2};  // between SIGTERM and SIGKILL

// A port that is free now. Another program may take it before rank 0 does; then rank 0 says so.
int freePort() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool found =
      descriptor >= 0 && bind(descriptor, generic, size) == 0 && getsockname(descriptor, generic, &size) == 0;
  if (descriptor >= 0) close(descriptor);
  if (!found)
    throw std::runtime_error(fmt::format("no TCP port of 127.0.0.1 is free for the ranks: {}", std::strerror(errno)));
  return ntohs(address.sin_port);
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environmentOfRank(int rank, int ranks, int port) {
  const std::map<std::string, std::string> own = {
      {"RANK", std::to_string(rank)},        {"LOCAL_RANK", std::to_string(rank)},
      {"WORLD_SIZE", std::to_string(ranks)}, {"LOCAL_WORLD_SIZE", std::to_string(ranks)},
      {"MASTER_ADDR", "127.0.0.1"},          {"MASTER_PORT", std::to_string(port)}};
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (own.count(text.substr(0, text.find('='))) == 0) all.push_back(text);
  }
  for (const auto& [name, value] : own) all.push_back(name + "=" + value);
  return all;
}

// "fsdp" of "/somewhere/fsdp.cuda".
std::string nameOf(const std::string& program) {
  const std::string file = program.substr(program.rfind('/') + 1);
  return file.substr(0, file.find('.'));
}

pid_t startRank(const std::string& program, std::vector<std::string> arguments, int rank, int ranks, int port) {
  std::vector<std::string> environment = environmentOfRank(rank, ranks, port);
  const std::vector<char*> argv = pointersTo(arguments);
  const std::vector<char*> envp = pointersTo(environment);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(fmt::format("rank {} cannot be started: {}", rank, std::strerror(errno)));
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  execve(program.c_str(), argv.data(), envp.data());
  constexpr char kMessage[] = "a rank cannot be started: the program cannot be executed\n";
  if (write(STDERR_FILENO, kMessage, sizeof kMessage - 1) < 0) _exit(126);
  _exit(127);
}

class Ranks {
 public:
  explicit Ranks(std::string name) : m_name(std::move(name)) {}
  void add(pid_t pid, int rank) { m_running[pid] = rank; }
  bool empty() const { return m_running.empty(); }
  void signalAll(int number) const {
    for (const auto& [pid, rank] : m_running) kill(pid, number);
  }

  // Takes the ranks that have ended; true if any had.
  bool collect() {
    bool any = false;
    int status = 0;
    for (pid_t pid = 0; !empty() && (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = m_running.find(pid);
      if (found == m_running.end()) continue;
      note(found->second, status);
      m_running.erase(found);
      any = true;
    }
    return any;
  }

  int exitCode() const { return m_exitCode; }

 private:
  void note(int rank, int status) {
    const bool killed = WIFSIGNALED(status);
    const int code = killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (code == 0 || m_exitCode != 0) return;  // what follows the first failure is its consequence
    m_exitCode = code;
    const std::string how =
        killed ? fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
               : fmt::format("failed with exit code {}", code);
    const std::string rest = m_running.size() > 1 ? "; the other ranks are stopped, since they would wait for it" : "";
    fmt::print(stderr, "{}: rank {} {}{}\n", m_name, rank, how, rest);
  }

  std::string m_name;  // the program's, for messages
  std::map<pid_t, int> m_running;
  int m_exitCode = 0;
};

}  // namespace

int runRanks(const std::string& program, const std::vector<std::string>& arguments, int ranks) {
  const int port = freePort();
  std::fflush(nullptr);
  Ranks running(nameOf(program));
  for (int rank = 0; rank < ranks; ++rank) running.add(startRank(program, arguments, rank, ranks, port), rank);

  Clock::time_point failed{};
  int sent = 0;
  while (!running.empty()) {
    if (running.collect()) continue;
    if (running.exitCode() != 0) {
      const auto now = Clock::now();
      if (failed == Clock::time_point{}) failed = now;
      if (sent == 0 && now > failed + kGrace) running.signalAll(sent = SIGTERM);
      if (sent == SIGTERM && now > failed + kGrace + kLastWords) running.signalAll(sent = SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return running.exitCode();
}

}  // namespace plumb::fsdp
