// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/server.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/api/time.h"

namespace plumb::recorder {

namespace {

constexpr int kBusyPollMs = 1;
constexpr int kIdlePollMs = 15;
constexpr size_t kBusyBytes = 32 * 1024;                      // in one pass: half of the smallest ring
constexpr int64_t kQuietNs = kNanosecondsPerSecond;           // preload alone: nobody connected for that long
constexpr int64_t kAbandonedNs = 20 * kNanosecondsPerSecond;  // neither a launcher nor a target ever came

Fd openSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  return Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Is the process that stands for the whole session still there?
class RootProcess {
 public:
  explicit RootProcess(pid_t pid) noexcept
      : m_pid(pid), m_fd(pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1) {}
  [[nodiscard]] bool isWatched() const noexcept { return m_pid > 0; }
  [[nodiscard]] bool isGone() const noexcept {
    if (m_fd.get() < 0) return ::kill(m_pid, 0) != 0;
    return ::syscall(SYS_pidfd_send_signal, m_fd.get(), 0, nullptr, 0) != 0;
  }

 private:
  pid_t m_pid;
  Fd m_fd;
};

// Nothing can be recorded: tells the launcher, which may come in a moment.
void refuse(Fd listener, const std::string& why) {
  Connections connections(std::move(listener), {[](int64_t, const transport::Hello&, int fd) { ::close(fd); },
                                                [](int64_t) {}, [](int64_t) {}, [](const std::string&) {}});
  const int64_t untilNs = monotonicNowNs() + 5 * kNanosecondsPerSecond;
  while (!connections.hadController() && monotonicNowNs() < untilNs) connections.poll(100, {});
  connections.sendText(transport::MessageType::kRefused, why);
}

class Server {
 public:
  Server(const Options& options, Fd listener, Recording& recording)
      : m_recording(recording),
        m_root(options.rootPid),
        m_signals(openSignals()),
        m_connections(
            std::move(listener),
            {[this](int64_t id, const transport::Hello& hello, int fd) { m_recording.add(id, hello, fd); },
             [this](int64_t id) { m_recording.noteGoodbye(id); }, [this](int64_t id) { m_recording.remove(id); },
             [this](const std::string& why) { m_recording.noteRefused(why); }}) {}

  void run() {
    int pauseMs = 0;
    m_lastConnectedNs = monotonicNowNs();
    while (!isOver() || somebodyCame()) {
      m_connections.poll(pauseMs, {m_signals.get()});
      if (m_connections.hadController() && !m_saidReady) {
        m_connections.sendText(transport::MessageType::kReady, m_recording.path());
        m_saidReady = true;
      }
      const ProcessFeed::Progress progress = m_recording.drain();
      pauseMs = progress.more ? 0 : progress.bytes > kBusyBytes ? kBusyPollMs : kIdlePollMs;
      if (m_recording.hasFeeds()) m_lastConnectedNs = monotonicNowNs();
    }
  }

  [[nodiscard]] Connections& connections() noexcept { return m_connections; }

 private:
  // A target may have connected just before the launcher said that all is over, or before the signal came.
  [[nodiscard]] bool somebodyCame() {
    m_connections.poll(0, {});
    return m_recording.hasFeeds() && !m_stopped;
  }
  [[nodiscard]] bool isOver() {
    signalfd_siginfo signal;
    if (::read(m_signals.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) m_stopped = true;
    if (m_stopped) return true;
    if (m_recording.hasFeeds()) return false;
    if (m_connections.hadController()) return m_connections.finishRequested() || !m_connections.hasController();
    const int64_t quietNs = monotonicNowNs() - m_lastConnectedNs;
    if (m_root.isWatched()) return quietNs >= kQuietNs && m_root.isGone();
    return quietNs >= kAbandonedNs;
  }

  Recording& m_recording;
  RootProcess m_root;
  Fd m_signals;
  Connections m_connections;
  int64_t m_lastConnectedNs = 0;
  bool m_saidReady = false;
  bool m_stopped = false;  // by a signal
};

int complain(const std::string& sentence, int exitCode) {
  std::fprintf(stderr, "plumb-recorder: %s\n", sentence.c_str());
  return exitCode;
}

Result<std::unique_ptr<Recording>> startRecording(const Options& options) {
  // Preload alone has nobody to ask for another name.
  auto file = createTraceFile(options.output, options.rootPid > 0 ? NameTaken::kTakeNext : NameTaken::kRefuse);
  if (!file.ok()) return file.error();
  const std::string path = file.value().path;
  auto recording = Recording::start(std::move(file).value(), options.command, Roofs::read(Roofs::defaultPath()));
  if (!recording.ok()) removeTraceFile(path);
  return recording;
}

}  // namespace

int serve(const Options& options, Fd listener) {
  auto recording = startRecording(options);
  if (!recording.ok()) {
    const int code = complain(recording.error().message, kExitRefused);
    refuse(std::move(listener), recording.error().message);
    return code;
  }

  Server server(options, std::move(listener), *recording.value());
  server.run();
  const Recording::Outcome outcome = recording.value()->finish();

  if (!outcome.failure.empty()) server.connections().sendText(transport::MessageType::kRefused, outcome.failure);
  transport::SummaryMessage summary{};
  summary.event_count = outcome.events;
  summary.dropped_count = outcome.dropped;
  summary.process_count = outcome.processes;
  summary.diagnostic_count = outcome.diagnostics;
  server.connections().sendSummary(summary, recording.value()->path(), outcome.lanesOff);
  return outcome.failure.empty() ? kExitDone : complain(outcome.failure, kExitIncomplete);
}

}  // namespace plumb::recorder
