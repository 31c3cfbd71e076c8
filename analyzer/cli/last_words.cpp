// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/last_words.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>

#include "analyzer/cli/commands.h"
#include "analyzer/trace/staging.h"

namespace plumb::cli {
namespace {

constexpr const char* kNoMemory =
    "There is not enough memory for this: end other programs or raise the limit (ulimit -v), or ask for less at once.";

[[noreturn]] void terminated() noexcept {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    tell("plumb: ");
    tell(kNoMemory);
    tell("\n");
    removeStagings();
    ::_exit(kFailed);
  } catch (...) {
    removeStagings();
  }
  std::abort();
}

}  // namespace

void tell(std::string_view text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void occupyClosedStreams() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest number is the one that is free; reading and writing go on failing.
    if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return;
  }
}

std::string sentenceOf(const std::exception& failure) {
  if (dynamic_cast<const std::bad_alloc*>(&failure)) return kNoMemory;
  if (const auto* system = dynamic_cast<const std::system_error*>(&failure);
      system && system->code() == std::errc::resource_unavailable_try_again)
    return "No thread can be started: end other programs or raise the limits (ulimit -u, ulimit -v).";
  return failure.what();
}

void endTidilyWhenTerminated() noexcept { std::set_terminate(terminated); }

}  // namespace plumb::cli
