// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/recorder_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "collector/transport/dead_sessions.h"

namespace plumb::launcher {
namespace {

constexpr int kBacklog = 1024;
constexpr int kListenFd = 3;
constexpr std::chrono::seconds kStartPatience{20};
constexpr size_t kLongestCommand = 4096;

std::string socketPath(const std::string& directory) { return directory + "/" + transport::kSocketName; }

// Listening, close-on-exec.
Result<int> listenAt(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{fmt::format("The name of the session's socket is too long ({}). Set TMPDIR to a shorter path.", path)};
  }
  std::strcpy(address.sun_path, path.c_str());
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd, kBacklog) != 0) {
    Error error{fmt::format("Cannot listen on {}: {}. Set TMPDIR to a folder that allows sockets.", path,
                            std::strerror(errno))};
    if (fd >= 0) {
      close(fd);
    }
    return error;
  }
  return fd;
}

// The launcher's environment without what would preload the agent into the recorder.
std::vector<char*> recorderEnvironment() {
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "LD_PRELOAD=", 11) != 0) {
      variables.push_back(*variable);
    }
  }
  variables.push_back(nullptr);
  return variables;
}

}  // namespace

Result<RecorderProcess> RecorderProcess::start(const Options& options) {
  RecorderProcess recorder;
  for (const Status& step : {recorder.makeDirectory(), recorder.launch(options), recorder.connectControl()}) {
    if (!step.ok()) {
      return step.error();
    }
  }
  return recorder;
}

RecorderProcess::RecorderProcess(RecorderProcess&& other) noexcept
    : m_directory(std::exchange(other.m_directory, {})),
      m_pid(std::exchange(other.m_pid, -1)),
      m_control(std::exchange(other.m_control, -1)) {}

RecorderProcess::~RecorderProcess() {
  if (m_control >= 0) {
    close(m_control);
  }
}

Status RecorderProcess::makeDirectory() {
  transport::removeDeadSessions();
  std::string pattern = fmt::format("{}/{}", transport::sessionsFolder(), transport::sessionPattern());
  if (mkdtemp(pattern.data()) == nullptr) {  // mode 0700
    return Error{
        fmt::format("Cannot make a folder for the session ({}): {}. Set TMPDIR to a folder that you may write.",
                    pattern, std::strerror(errno))};
  }
  m_directory = pattern;
  return Unit{};
}

Status RecorderProcess::launch(const Options& options) {
  const Result<int> listener = listenAt(socketPath(m_directory));
  if (!listener.ok()) {
    cleanUp();
    return listener.error();
  }
  const std::string command = options.command.substr(0, kLongestCommand);
  const std::string listenFd = std::to_string(kListenFd);
  const std::array<const char*, 11> arguments = {options.program.c_str(),
                                                 "--session",
                                                 m_directory.c_str(),
                                                 "--output",
                                                 options.output.c_str(),
                                                 "--listen-fd",
                                                 listenFd.c_str(),
                                                 "--command",
                                                 command.c_str(),
                                                 "--foreground",
                                                 nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&files, 0, 1);
  posix_spawn_file_actions_adddup2(&files, 0, 2);
  posix_spawn_file_actions_adddup2(&files, listener.value(), kListenFd);  // also drops close-on-exec
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A session of its own: Ctrl+C in the terminal is for the command.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  const int error = posix_spawn(&m_pid, options.program.c_str(), &files, &attributes,
                                const_cast<char* const*>(arguments.data()), recorderEnvironment().data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    close(listener.value());
    m_pid = -1;
    cleanUp();
    return Error{fmt::format("Cannot start the recorder {}: {}. Build Plumbline completely, or install it again.",
                             options.program, std::strerror(error))};
  }
  // Connected before our listening end is closed; the recorder's stays.
  m_control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, socketPath(m_directory).c_str());
  const bool connected = connect(m_control, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(listener.value());
  if (!connected) {
    cleanUp();
    return Error{"The recorder cannot be reached although it was started. Try again."};
  }
  return Unit{};
}

Status RecorderProcess::connectControl() {
  std::array<std::byte, sizeof(transport::ControlMessage)> buffer;
  transport::MessageWriter writer(buffer);
  transport::ControlMessage control{};
  control.pid = static_cast<uint32_t>(getpid());
  writer.begin(transport::MessageType::kControl, control);
  pollfd state{.fd = m_control, .events = POLLIN, .revents = 0};
  const auto patience = std::chrono::milliseconds(kStartPatience).count();
  int answers = -1;
  if (transport::sendPacket(m_control, writer.finish())) answers = poll(&state, 1, static_cast<int>(patience));
  if (answers > 0) {
    std::vector<std::byte> packet(transport::kMaxMessageBytes);
    const transport::Packet received = transport::receivePacket(m_control, packet);
    if (received.state == transport::Packet::State::kMessage) {
      const Result<transport::TextMessage> answer = transport::readText(received.bytes);
      if (answer.ok() && answer.value().type == transport::MessageType::kReady) {
        return Unit{};
      }
      cleanUp();
      return Error{answer.ok() ? answer.value().text : answer.error().message};
    }
  }
  cleanUp();
  if (answers == 0) {
    return Error{fmt::format(
        "The recorder was not ready within {} s: the machine, or the disk of the trace file, is very busy. Try again.",
        patience / 1000)};
  }
  return Error{"The recorder ended before it was ready. Run \"plumb doctor\" to find out why."};
}

// After a failed start.
void RecorderProcess::cleanUp() {
  if (m_control >= 0) {
    close(std::exchange(m_control, -1));
  }
  if (m_pid > 0) {
    // It ends by itself once its control connection is gone; not waited for longer than that takes.
    for (int attempt = 0; attempt < 100 && waitpid(m_pid, nullptr, WNOHANG) == 0; ++attempt) {
      usleep(10'000);
    }
    m_pid = -1;
  }
  if (!m_directory.empty()) {
    unlink(socketPath(m_directory).c_str());
    unlink((m_directory + "/" + transport::kLockName).c_str());
    rmdir(m_directory.c_str());
    m_directory.clear();
  }
}

void RecorderProcess::requestFinish() {
  std::array<std::byte, sizeof(transport::MessageHeader)> buffer;
  transport::MessageWriter writer(buffer);
  writer.begin(transport::MessageType::kFinish, transport::MessageHeader{});
  (void)transport::sendPacket(m_control, writer.finish());
}

std::optional<Result<transport::Summary>> RecorderProcess::waitForSummary(std::chrono::milliseconds patience) {
  pollfd state{.fd = m_control, .events = POLLIN, .revents = 0};
  if (poll(&state, 1, static_cast<int>(patience.count())) <= 0) {
    return std::nullopt;
  }
  std::vector<std::byte> packet(transport::kMaxMessageBytes);
  const transport::Packet received = transport::receivePacket(m_control, packet);
  if (received.state != transport::Packet::State::kMessage) {
    return Error{"The recorder ended unexpectedly; the recording may be incomplete, but can be opened."};
  }
  const Result<transport::MessageHeader> header = transport::readHeader(received.bytes);
  if (header.ok() && header.value().type == transport::MessageType::kRefused) {
    const Result<transport::TextMessage> reason = transport::readText(received.bytes);
    return Error{reason.ok() ? reason.value().text : reason.error().message};
  }
  return transport::readSummary(received.bytes);
}

bool RecorderProcess::alive() { return m_pid > 0 && waitpid(m_pid, nullptr, WNOHANG) == 0; }

}  // namespace plumb::launcher
