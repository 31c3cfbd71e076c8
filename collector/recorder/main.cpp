// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "collector/recorder/server.h"
#include "collector/recorder/trace_file.h"
#include "collector/transport/dead_sessions.h"

namespace plumb::recorder {
namespace {

// Leaves the session that started us: its terminal's Ctrl+C is the target's, and its pipes must not stay open.
// False in the parent.
bool detach(int keepFd) {
  const pid_t child = ::fork();
  if (child != 0) return child < 0;  // no fork: go on in the foreground
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3 && nothing >= 0; ++fd) ::dup2(nothing, fd);
  const auto keep = static_cast<unsigned>(keepFd);
  if (keep > 3) ::close_range(3, keep - 1, 0);
  ::close_range(keep + 1, ~0u, 0);
  return true;
}

void blockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a failed write, with its sentence
}

int fail(const std::string& sentence) {
  std::fprintf(stderr, "plumb-recorder: %s\n", sentence.c_str());
  return kExitRefused;
}

int record(Options options) {
  blockSignals();
  options.output = std::filesystem::absolute(options.output).string();
  Result<Fd> listener = options.listenFd >= 0 ? Result<Fd>(Fd(options.listenFd)) : listenIn(options.sessionDirectory);
  if (!listener.ok()) return fail(listener.error().message);
  if (!options.foreground && !detach(listener.value().get())) return kExitDone;
  if (options.listenFd >= 0) ::fcntl(options.listenFd, F_SETFD, FD_CLOEXEC);

  const int code = serve(options, std::move(listener).value());
  ::unlink((options.sessionDirectory + "/" + transport::kSocketName).c_str());
  ::unlink((options.sessionDirectory + "/" + transport::kLockName).c_str());
  ::rmdir(options.sessionDirectory.c_str());
  return code;
}

int complete(const std::string& path) {
  transport::removeDeadSessions();  // of the recorder that was killed, among others
  const auto done = recoverTraceFile(path);
  if (!done.ok()) return fail(done.error().message);
  std::printf("%s\n", done.value().c_str());
  return kExitDone;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Writes what the processes of one session record into a trace file. Started by plumb record and by "
      "libplumb.so."};
  auto* session = app.add_option("--session", options.sessionDirectory, "The session's directory, with its socket");
  auto* output = app.add_option("--output", options.output, "The trace file to make");
  app.add_option("--listen-fd", options.listenFd, "An inherited descriptor that listens on the session's socket");
  app.add_option("--root-pid", options.rootPid, "End when this process is gone and nobody is connected");
  app.add_option("--command", options.command, "What is being run, for people");
  app.add_flag("--foreground", options.foreground, "Stay attached to the terminal");
  auto* finish = app.add_option("--finish", options.finish, "Complete the file of a recorder that was killed");
  session->needs(output)->excludes(finish);
  output->needs(session);
  CLI11_PARSE(app, argc, argv);
  if (!options.finish.empty()) return complete(options.finish);
  if (options.sessionDirectory.empty()) return fail("Nothing to do: give --session and --output, or --finish.");
  return record(std::move(options));
}

}  // namespace
}  // namespace plumb::recorder

int main(int argc, char** argv) { return plumb::recorder::run(argc, argv); }
