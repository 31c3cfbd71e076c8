// SPDX-License-Identifier: Apache-2.0
// The recorder's command line (collector/transport/protocol.h).
#pragma once
#include <sys/types.h>

#include <string>

namespace plumb::recorder {

struct Options {
  std::string sessionDirectory;
  std::string output;
  std::string command;  // what is being run, for people
  std::string finish;   // a file to complete instead of recording
  int listenFd = -1;    // -1: bind the socket in the session's directory
  pid_t rootPid = 0;    // 0: a launcher connects
  bool foreground = false;
};

}  // namespace plumb::recorder
