// SPDX-License-Identifier: Apache-2.0
// The session's socket: who is connected and what they said. Knows nothing of traces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collector/schema/result.h"
#include "collector/transport/protocol.h"

namespace plumb::recorder {

// A descriptor with an owner.
class Fd {
 public:
  Fd() noexcept = default;
  explicit Fd(int fd) noexcept : m_fd(fd) {}
  Fd(Fd&& other) noexcept : m_fd(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();
  [[nodiscard]] int get() const noexcept { return m_fd; }
  [[nodiscard]] int release() noexcept;

 private:
  int m_fd = -1;
};

class Connections {
 public:
  struct Events {
    // A target's first message. segmentFd is the receiver's. The connection stays open under this id.
    std::function<void(int64_t id, const transport::Hello& hello, int segmentFd)> hello;
    std::function<void(int64_t id)> goodbye;
    std::function<void(int64_t id)> gone;  // of a target that said hello
    std::function<void(const std::string& why)> nonsense;
  };

  // Takes over a listening socket.
  Connections(Fd listener, Events events);

  // Waits up to timeoutMs for something to happen (on alsoWakeOn too) and reports it.
  void poll(int timeoutMs, std::vector<int> alsoWakeOn);

  [[nodiscard]] bool hasController() const noexcept { return m_controller.get() >= 0; }
  [[nodiscard]] bool hadController() const noexcept { return m_hadController; }
  [[nodiscard]] bool finishRequested() const noexcept { return m_finishRequested; }
  // Tells the launcher, if there is one.
  void sendText(transport::MessageType type, const std::string& text);
  void sendSummary(const transport::SummaryMessage& summary, const std::string& file, const std::string& lanesOff);
  [[nodiscard]] size_t openCount() const noexcept { return m_open.size(); }

 private:
  struct Connection {
    int64_t id;
    Fd socket;
    bool isTarget = false;
  };
  void acceptAll();
  // False: closed.
  [[nodiscard]] bool receive(Connection& connection);
  [[nodiscard]] bool handle(Connection& connection, std::span<const std::byte> message, Fd fd);
  void receiveFromController();

  static constexpr size_t kMaxConnections = 16'384;
  Fd m_listener;
  Events m_events;
  std::vector<Connection> m_open;
  Fd m_controller;
  bool m_hadController = false;
  bool m_finishRequested = false;
  int64_t m_lastId = 0;
  std::vector<std::byte> m_buffer;
};

// Binds and listens on DIR/recorder.sock.
[[nodiscard]] Result<Fd> listenIn(const std::string& sessionDirectory);

}  // namespace plumb::recorder
