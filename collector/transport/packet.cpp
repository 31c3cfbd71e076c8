// SPDX-License-Identifier: Apache-2.0
// The part of protocol.h that targets use too: no heap, no exceptions.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "collector/transport/protocol.h"

namespace plumb::transport {

void MessageWriter::append(const void* bytes, size_t count) noexcept {
  if (count > room()) {
    m_ok = false;
    return;
  }
  std::memcpy(m_buffer.data() + m_size, bytes, count);
  m_size += count;
}

void MessageWriter::text(std::string_view text) noexcept {
  if (text.size() + sizeof(uint32_t) > room()) {
    m_ok = false;
    return;
  }
  const auto length = static_cast<uint32_t>(text.size());
  append(&length, sizeof length);
  append(text.data(), text.size());
}

std::span<const std::byte> MessageWriter::finish() noexcept {
  const auto size = static_cast<uint32_t>(m_size);
  std::memcpy(m_buffer.data() + offsetof(MessageHeader, size_bytes), &size, sizeof size);
  return m_buffer.first(m_size);
}

bool sendPacket(int socket, std::span<const std::byte> packet, int fd) noexcept {
  iovec part{const_cast<std::byte*>(packet.data()), packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(packet.size());
}

namespace {

// The first descriptor that came along; the others are closed.
int takeDescriptor(msghdr& message) noexcept {
  int kept = -1;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      if (kept < 0) {
        kept = fd;
      } else {
        close(fd);
      }
    }
  }
  return kept;
}

}  // namespace

Packet receivePacket(int socket, std::span<std::byte> buffer) noexcept {
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size;
  do {
    size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return {Packet::State::kNothing, {}, -1};
  }
  if (size <= 0) {
    return {Packet::State::kClosed, {}, -1};
  }
  return {Packet::State::kMessage, buffer.first(static_cast<size_t>(size)), takeDescriptor(message)};
}

}  // namespace plumb::transport
