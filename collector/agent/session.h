// SPDX-License-Identifier: Apache-2.0
// The connection to the session's recorder.
#pragma once
#include <sys/types.h>

#include <cstdint>

namespace plumb::agent {

// Finds the recorder of the session, or starts one where the session has a root process and no recorder yet; processes
// that come at the same moment start just one. Waits 2 s at most, and only for other processes that are starting it.
// The socket (close-on-exec), or -1: why is then a sentence for a diagnostic.
[[nodiscard]] int connectToRecorder(const char*& why) noexcept;

// Our end of it. Verified before each use: a target that closes all its descriptors closes ours too, and the number may
// since be a file of its own.
class Connection {
 public:
  // Takes over socket.
  void open(int socket) noexcept;
  [[nodiscard]] bool opened() const noexcept { return m_socket >= 0; }
  // Introduces this process and passes its segment on.
  [[nodiscard]] bool sendHello(int segmentFd) noexcept;
  void sendGoodbye() noexcept;
  // The recorder has hung up, or the target has closed our descriptor.
  [[nodiscard]] bool lost() noexcept;
  void close() noexcept;

 private:
  [[nodiscard]] bool stillOurs() const noexcept;

  int m_socket = -1;
  dev_t m_device = 0;
  ino_t m_inode = 0;
};

}  // namespace plumb::agent
