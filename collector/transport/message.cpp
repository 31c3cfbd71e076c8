// SPDX-License-Identifier: Apache-2.0
// Reading messages: any bytes may come.
#include <cstring>

#include "collector/transport/protocol.h"

namespace plumb::transport {
namespace {

Error malformed(const char* what) {
  return Error{std::string("A message on the session's socket is malformed (") + what + "); it was ignored."};
}

// Takes fixed structs and texts off the front of a packet.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : m_bytes(bytes) {}

  template <class Fixed>
  bool take(Fixed& fixed) {
    if (m_bytes.size() < sizeof fixed) {
      return false;
    }
    std::memcpy(&fixed, m_bytes.data(), sizeof fixed);
    m_bytes = m_bytes.subspan(sizeof fixed);
    return true;
  }

  bool take(std::string& text) {
    uint32_t length = 0;
    if (!take(length) || length > m_bytes.size()) {
      return false;
    }
    text.assign(reinterpret_cast<const char*>(m_bytes.data()), length);
    m_bytes = m_bytes.subspan(length);
    return true;
  }

 private:
  std::span<const std::byte> m_bytes;
};

}  // namespace

Result<MessageHeader> readHeader(std::span<const std::byte> packet) {
  MessageHeader header;
  if (packet.size() < sizeof header) {
    return malformed("shorter than its header");
  }
  std::memcpy(&header, packet.data(), sizeof header);
  if (header.size_bytes != packet.size()) {
    return malformed("its size is not the packet's");
  }
  if (header.version != kProtocolVersion) {
    return Error{"A program of another Plumbline version connected (protocol " + std::to_string(header.version) +
                 ", this is " + std::to_string(kProtocolVersion) + "); use programs of one version."};
  }
  return header;
}

Result<Hello> readHello(std::span<const std::byte> packet) {
  if (const auto header = readHeader(packet); !header.ok()) {
    return header.error();
  }
  Reader reader(packet);
  Hello hello;
  if (!reader.take(hello.fixed) || hello.fixed.header.type != MessageType::kHello) {
    return malformed("no hello");
  }
  if (!reader.take(hello.program) || !reader.take(hello.command) || !reader.take(hello.host) ||
      hello.fixed.variable_count > kMaxVariables) {
    return malformed("hello is cut off");
  }
  for (uint32_t i = 0; i < hello.fixed.variable_count; ++i) {
    std::pair<std::string, std::string> variable;
    if (!reader.take(variable.first) || !reader.take(variable.second)) {
      return malformed("hello is cut off");
    }
    hello.variables.push_back(std::move(variable));
  }
  return hello;
}

Result<TextMessage> readText(std::span<const std::byte> packet) {
  const auto header = readHeader(packet);
  if (!header.ok()) {
    return header.error();
  }
  Reader reader(packet);
  MessageHeader skipped;
  TextMessage message;
  message.type = header.value().type;
  if (!reader.take(skipped) || !reader.take(message.text)) {
    return malformed("its text is cut off");
  }
  return message;
}

Result<Summary> readSummary(std::span<const std::byte> packet) {
  if (const auto header = readHeader(packet); !header.ok()) {
    return header.error();
  }
  Reader reader(packet);
  Summary summary;
  if (!reader.take(summary.fixed) || summary.fixed.header.type != MessageType::kSummary || !reader.take(summary.file)) {
    return malformed("no summary");
  }
  if (!reader.take(summary.lanesOff)) {
    return malformed("no list of lanes");
  }
  return summary;
}

}  // namespace plumb::transport
