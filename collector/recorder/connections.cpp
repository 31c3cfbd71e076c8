// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/connections.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace plumb::recorder {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (m_fd >= 0) ::close(m_fd);
    m_fd = other.release();
  }
  return *this;
}

Fd::~Fd() {
  if (m_fd >= 0) ::close(m_fd);
}

int Fd::release() noexcept { return std::exchange(m_fd, -1); }

Result<Fd> listenIn(const std::string& sessionDirectory) {
  const std::string path = sessionDirectory + "/" + transport::kSocketName;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{fmt::format("The session's directory {} has too long a name for a socket.", sessionDirectory)};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener.get() < 0 || ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0) {
    return Error{fmt::format("Cannot listen on {}: {}.", path, std::strerror(errno))};
  }
  return listener;
}

Connections::Connections(Fd listener, Events events)
    : m_listener(std::move(listener)), m_events(std::move(events)), m_buffer(transport::kMaxMessageBytes) {
  ::fcntl(m_listener.get(), F_SETFL, ::fcntl(m_listener.get(), F_GETFL) | O_NONBLOCK);
}

void Connections::poll(int timeoutMs, std::vector<int> alsoWakeOn) {
  std::vector<pollfd> waits;
  waits.push_back({m_listener.get(), POLLIN, 0});
  waits.push_back({m_controller.get(), POLLIN, 0});  // -1 is ignored
  for (const int fd : alsoWakeOn) waits.push_back({fd, POLLIN, 0});
  const size_t first = waits.size();
  for (const Connection& connection : m_open) waits.push_back({connection.socket.get(), POLLIN, 0});
  if (::poll(waits.data(), waits.size(), timeoutMs) <= 0) return;

  if (waits[1].revents != 0) receiveFromController();
  for (size_t i = m_open.size(); i-- > 0;) {
    if (waits[first + i].revents != 0 && !receive(m_open[i])) {
      m_open.erase(m_open.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (waits[0].revents != 0) acceptAll();
}

void Connections::acceptAll() {
  while (m_open.size() < kMaxConnections) {
    Fd socket(::accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) return;
    Connection connection{++m_lastId, std::move(socket)};
    if (receive(connection)) m_open.push_back(std::move(connection));
  }
}

bool Connections::receive(Connection& connection) {
  while (connection.socket.get() >= 0) {
    const transport::Packet packet = transport::receivePacket(connection.socket.get(), m_buffer);
    if (packet.state == transport::Packet::State::kNothing) return true;
    if (packet.state == transport::Packet::State::kClosed) {
      if (connection.isTarget) m_events.gone(connection.id);
      return false;
    }
    if (!handle(connection, packet.bytes, Fd(packet.fd))) {
      if (connection.isTarget) m_events.gone(connection.id);
      return false;
    }
  }
  return false;
}

bool Connections::handle(Connection& connection, std::span<const std::byte> message, Fd fd) {
  const auto header = transport::readHeader(message);
  if (!header.ok()) {
    m_events.nonsense(header.error().message);
    return false;
  }
  switch (header.value().type) {
    case transport::MessageType::kHello: {
      const auto hello = transport::readHello(message);
      if (!hello.ok() || fd.get() < 0 || connection.isTarget) {
        m_events.nonsense(hello.ok() ? "A target said hello without its memory, or twice." : hello.error().message);
        return false;
      }
      connection.isTarget = true;
      m_events.hello(connection.id, hello.value(), fd.release());
      return true;
    }
    case transport::MessageType::kGoodbye:
      if (connection.isTarget) m_events.goodbye(connection.id);
      return true;
    case transport::MessageType::kControl:
      if (connection.isTarget || hasController()) return false;
      m_controller = std::move(connection.socket);
      m_hadController = true;
      return false;
    default:
      return true;  // of a newer version
  }
}

void Connections::receiveFromController() {
  while (hasController()) {
    const transport::Packet packet = transport::receivePacket(m_controller.get(), m_buffer);
    const Fd surplus(packet.fd);
    if (packet.state == transport::Packet::State::kNothing) return;
    if (packet.state == transport::Packet::State::kClosed) {
      m_controller = Fd();
      return;
    }
    const auto header = transport::readHeader(packet.bytes);
    if (header.ok() && header.value().type == transport::MessageType::kFinish) m_finishRequested = true;
  }
}

void Connections::sendText(transport::MessageType type, const std::string& text) {
  if (!hasController()) return;
  transport::MessageWriter writer(m_buffer);
  writer.begin(type, transport::MessageHeader{});
  writer.text(text);
  (void)transport::sendPacket(m_controller.get(), writer.finish());
}

void Connections::sendSummary(const transport::SummaryMessage& summary, const std::string& file,
                              const std::string& lanesOff) {
  if (!hasController()) return;
  transport::MessageWriter writer(m_buffer);
  writer.begin(transport::MessageType::kSummary, summary);
  writer.text(file);
  writer.text(lanesOff);
  (void)transport::sendPacket(m_controller.get(), writer.finish());
}

}  // namespace plumb::recorder
