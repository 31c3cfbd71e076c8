// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "collector/agent/config.h"
#include "collector/agent/spawn.h"
#include "collector/agent/text_buffer.h"
#include "collector/api/time.h"
#include "collector/transport/protocol.h"

namespace plumb::agent {
namespace {

constexpr int64_t kPatienceNs = 2 * kNanosecondsPerSecond;
constexpr int kBacklog = 1024;  // every rank of a node may connect before the recorder is up
constexpr int kHighFd = 200;    // out of the way of targets that count on low numbers

bool makeAddress(sockaddr_un& address) noexcept {
  address = {};
  address.sun_family = AF_UNIX;
  return TextBuffer(address.sun_path).add(startup().sessionDirectory).add("/").add(transport::kSocketName).ok();
}

int moveUp(int fd) noexcept {
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, kHighFd);
  if (high < 0) {
    return fd;
  }
  close(fd);
  return high;
}

int makeSocket() noexcept {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    // Connecting waits while the backlog is full, sending while the recorder does not read.
    const timeval patience{.tv_sec = kPatienceNs / kNanosecondsPerSecond, .tv_usec = 0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  return fd;
}

int tryConnect(const sockaddr_un& address) noexcept {
  const int fd = makeSocket();
  if (fd < 0) {
    return -1;
  }
  int result;
  do {
    result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    close(fd);
    return -1;
  }
  return moveUp(fd);
}

// The directory exists, is a directory, ours, and closed to others: nobody else can have put a socket there.
bool makeDirectory() noexcept {
  const char* path = startup().sessionDirectory;
  if (mkdir(path, 0700) != 0 && errno != EEXIST) {
    return false;
  }
  struct stat status {};
  return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 077) == 0;
}

// The session's lock, or -1 after kPatienceNs.
int lockSession() noexcept {
  char path[PATH_MAX];
  if (!TextBuffer(path).add(startup().sessionDirectory).add("/").add(transport::kLockName).ok()) {
    return -1;
  }
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    return -1;
  }
  const int64_t deadline = monotonicNowNs() + kPatienceNs;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || monotonicNowNs() > deadline) {
      close(fd);
      return -1;
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return fd;
}

size_t readSmallFile(const char* path, char* buffer, size_t size) noexcept {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return 0;
  }
  const ssize_t count = read(fd, buffer, size);
  close(fd);
  return count > 0 ? static_cast<size_t>(count) : 0;
}

// argv of a process ("self" or a number), joined by blanks.
std::string_view readCommand(std::string_view process, char* buffer, size_t size) noexcept {
  char path[64];
  TextBuffer(path).add("/proc/").add(process).add("/cmdline");
  size_t length = readSmallFile(path, buffer, size);
  while (length > 0 && buffer[length - 1] == '\0') {
    --length;
  }
  for (size_t i = 0; i < length; ++i) {
    buffer[i] = buffer[i] == '\0' ? ' ' : buffer[i];
  }
  return {buffer, length};
}

bool startRecorder(int listener) noexcept {
  char recorder[PATH_MAX];
  if (const char* chosen = setting("recorder"); chosen != nullptr) {
    TextBuffer(recorder).add(chosen);
  } else if (!besideLibrary("../bin/plumb-recorder", recorder, sizeof recorder)) {
    return false;
  }
  char rootPid[24];
  TextBuffer root(rootPid);
  root.addNumber(static_cast<uint64_t>(startup().rootPid));
  char command[transport::kMaxCommandBytes + 1];
  const std::string_view text = readCommand(root.view(), command, sizeof command - 1);
  command[text.size()] = '\0';
  static_assert(kInheritedFd == 3);
  const char* const arguments[] = {recorder,    "--session",      startup().sessionDirectory,
                                   "--output",  startup().output, "--listen-fd",
                                   "3",         "--root-pid",     rootPid,
                                   "--command", command,          "--foreground",
                                   nullptr};
  return spawnDetached(arguments, recorderEnvironment(), listener);
}

// The recorder has no terminal of its own, so what it cannot write is said here: once, by a process that has something
// to record. Only to a standard error that takes it at once: the target must not wait, and not get SIGPIPE.
bool outputCanBeMade() noexcept {
  const std::string_view output{startup().output};
  const size_t slash = output.rfind('/');
  char folder[PATH_MAX];
  if (slash == std::string_view::npos || !TextBuffer(folder).add(head(output, slash + 1)).ok()) {
    return true;
  }
  if (access(folder, W_OK | X_OK) == 0) {
    return true;
  }
  static bool s_isSaid = false;  // here, or before a fork
  if (s_isSaid) {
    return false;
  }
  s_isSaid = true;
  char message[2 * PATH_MAX];
  TextBuffer text(message);
  text.add("plumb: nothing is recorded: the folder ").add(head(output, slash + 1));
  text.add(errno == ENOENT ? " does not exist" : " cannot be written").add(" (PLUMB_OUTPUT names the file).\n");
  pollfd standardError{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&standardError, 1, 0) == 1 && standardError.revents == POLLOUT) {
    (void)!write(STDERR_FILENO, message, text.view().size());
  }
  return false;
}

// Under the session's lock, nobody listening: binds, listens, starts the recorder. False: nothing is left behind.
bool listenAndStart(const sockaddr_un& address) noexcept {
  if (!outputCanBeMade()) {
    return false;
  }
  unlink(address.sun_path);  // of a recorder that was killed
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (listener < 0) {
    return false;
  }
  const bool started = bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                       listen(listener, kBacklog) == 0 && startRecorder(listener);
  close(listener);
  if (!started) {
    unlink(address.sun_path);
  }
  return started;
}

void removeSessionDirectory() noexcept {
  char path[PATH_MAX];
  if (TextBuffer(path).add(startup().sessionDirectory).add("/").add(transport::kLockName).ok()) {
    unlink(path);
  }
  rmdir(startup().sessionDirectory);
}

}  // namespace

int connectToRecorder(const char*& why) noexcept {
  sockaddr_un address;
  if (startup().sessionDirectory[0] == '\0' || !makeAddress(address)) {
    why = "The session's directory has too long a name.";
    return -1;
  }
  if (const int fd = tryConnect(address); fd >= 0) {
    return fd;
  }
  if (startup().rootPid == 0) {
    why = "The recorder is gone.";
    return -1;
  }
  if (!makeDirectory()) {
    why = "The session's directory cannot be made, or is not ours alone.";
    return -1;
  }
  const int lock = lockSession();
  if (lock < 0) {
    why = "The session's lock cannot be had.";
    return -1;
  }
  int fd = tryConnect(address);  // somebody may have been faster
  if (fd < 0) {
    if (listenAndStart(address)) {
      fd = tryConnect(address);
    } else {
      removeSessionDirectory();
    }
  }
  close(lock);
  why = "The recorder cannot be started.";
  return fd;
}

void Connection::open(int socket) noexcept {
  m_socket = socket;
  struct stat status {};
  fstat(socket, &status);
  m_device = status.st_dev;
  m_inode = status.st_ino;
}

bool Connection::stillOurs() const noexcept {
  struct stat status {};
  return m_socket >= 0 && fstat(m_socket, &status) == 0 && status.st_dev == m_device && status.st_ino == m_inode;
}

namespace {

int64_t processStartTicks() noexcept {
  char text[1024];
  const size_t length = readSmallFile("/proc/self/stat", text, sizeof text - 1);
  text[length] = '\0';
  // The name, field 2, may hold blanks and brackets; the last bracket ends it.
  const char* at = strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) {
    at = strchr(at + 1, ' ');
  }
  return at == nullptr ? 0 : strtoll(at, nullptr, 10);
}

std::string_view programName(char (&buffer)[PATH_MAX]) noexcept {
  const ssize_t length = readlink("/proc/self/exe", buffer, sizeof buffer);
  if (length <= 0) {
    return program_invocation_short_name;
  }
  const std::string_view path{buffer, static_cast<size_t>(length)};
  return tail(path, path.rfind('/') + 1);
}

struct VariableSink {
  transport::MessageWriter* writer;
  uint32_t count;
};

void countVariable(void* context, std::string_view, std::string_view) { ++static_cast<VariableSink*>(context)->count; }

void writeVariable(void* context, std::string_view name, std::string_view value) {
  auto& sink = *static_cast<VariableSink*>(context);
  if (sink.count > 0) {
    --sink.count;
    sink.writer->text(head(name, transport::kMaxVariableBytes));
    sink.writer->text(head(value, transport::kMaxVariableBytes));
  }
}

}  // namespace

bool Connection::sendHello(int segmentFd) noexcept {
  // Room for all variables at their longest would not fit on a small stack.
  alignas(8) std::byte buffer[16 * 1024];
  transport::MessageWriter writer(buffer);
  VariableSink sink{&writer, 0};
  forEachRecordedVariable(countVariable, &sink);
  sink.count = sink.count > transport::kMaxVariables ? transport::kMaxVariables : sink.count;
  const RankFacts ranks = rankFacts();
  transport::HelloMessage hello{};
  hello.pid = static_cast<uint32_t>(getpid());
  hello.parent_pid = static_cast<uint32_t>(getppid());
  hello.monotonic_ns = monotonicNowNs();
  hello.realtime_ns = realtimeNowNs();
  hello.process_start_ticks = processStartTicks();
  hello.rank = ranks.rank;
  hello.local_rank = ranks.localRank;
  hello.world_size = ranks.worldSize;
  hello.variable_count = sink.count;
  writer.begin(transport::MessageType::kHello, hello);
  char program[PATH_MAX];
  writer.text(programName(program));
  char command[transport::kMaxCommandBytes];
  writer.text(readCommand("self", command, sizeof command));
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, HOST_NAME_MAX);
  writer.text(host);
  forEachRecordedVariable(writeVariable, &sink);
  if (!writer.ok()) {
    // Too much to say: better without the variables than not at all.
    hello.variable_count = 0;
    writer = transport::MessageWriter(buffer);
    writer.begin(transport::MessageType::kHello, hello);
    writer.text(programName(program));
    writer.text(readCommand("self", command, sizeof command));
    writer.text(host);
  }
  const bool sent = transport::sendPacket(m_socket, writer.finish(), segmentFd);
  const timeval patience{.tv_sec = 0, .tv_usec = 20'000};  // from here on the target is at work, or at its end
  setsockopt(m_socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return sent;
}

void Connection::sendGoodbye() noexcept {
  if (!stillOurs()) {
    return;
  }
  std::byte buffer[sizeof(transport::MessageHeader)];
  transport::MessageWriter writer(buffer);
  writer.begin(transport::MessageType::kGoodbye, transport::MessageHeader{});
  // Not sent: the segment's own `finished` says it too.
  (void)transport::sendPacket(m_socket, writer.finish());
}

bool Connection::lost() noexcept {
  if (!stillOurs()) {
    return true;
  }
  pollfd state{.fd = m_socket, .events = 0, .revents = 0};
  return poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

void Connection::close() noexcept {
  if (stillOurs()) {
    ::close(m_socket);
  }
  m_socket = -1;
}

}  // namespace plumb::agent
