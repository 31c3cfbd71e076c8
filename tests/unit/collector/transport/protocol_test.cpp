// SPDX-License-Identifier: Apache-2.0
// Messages survive the way, with their descriptor; what is malformed is refused with a sentence.
#include "collector/transport/protocol.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <random>

namespace plumb::transport {
namespace {

using testing::HasSubstr;

std::vector<std::byte> helloBytes() {
  std::vector<std::byte> buffer(4096);
  MessageWriter writer(buffer);
  HelloMessage hello{};
  hello.pid = 17;
  hello.rank = 3;
  hello.variable_count = 2;
  writer.begin(MessageType::kHello, hello);
  for (const char* text : {"python3.11", "python3 train.py", "node7", "RANK", "3", "NCCL_DEBUG", ""}) {
    writer.text(text);
  }
  buffer.resize(writer.finish().size());
  return buffer;
}

class Sockets : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, m_fds.data()), 0); }
  void TearDown() override {
    close(m_fds[0]);
    close(m_fds[1]);
  }
  std::array<int, 2> m_fds{};
  std::vector<std::byte> m_buffer = std::vector<std::byte>(kMaxMessageBytes);
};

TEST(Message, HelloComesBackAsItWent) {
  const Result<Hello> hello = readHello(helloBytes());
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello.value().fixed.pid, 17u);
  EXPECT_EQ(hello.value().fixed.rank, 3);
  EXPECT_EQ(hello.value().program, "python3.11");
  EXPECT_EQ(hello.value().command, "python3 train.py");
  EXPECT_EQ(hello.value().host, "node7");
  ASSERT_EQ(hello.value().variables.size(), 2u);
  EXPECT_EQ(hello.value().variables[1].first, "NCCL_DEBUG");
}

TEST(Message, CutOffAnywhereIsRefused) {
  const std::vector<std::byte> whole = helloBytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(readHello(cut).ok());
    if (size >= sizeof(uint32_t)) {  // also when its own size agrees
      const auto claimed = static_cast<uint32_t>(size);
      std::memcpy(cut.data(), &claimed, sizeof claimed);
      EXPECT_FALSE(readHello(cut).ok()) << size;
    }
  }
}

TEST(Message, DamagedAnywhereIsRefusedOrRead) {
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::byte> bytes = helloBytes();
    for (int i = 0; i < 3; ++i) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    (void)readHello(bytes);  // comes back, whatever it says
    (void)readText(bytes);
    (void)readSummary(bytes);
  }
}

TEST(Message, OfAnotherVersionSaysSo) {
  std::vector<std::byte> bytes = helloBytes();
  const uint16_t version = kProtocolVersion + 1;
  std::memcpy(bytes.data() + offsetof(MessageHeader, version), &version, sizeof version);
  const Result<Hello> hello = readHello(bytes);
  ASSERT_FALSE(hello.ok());
  EXPECT_THAT(hello.error().message, HasSubstr("use programs of one version"));
}

TEST(Message, TooLongForItsBufferIsNotOk) {
  std::array<std::byte, 64> buffer;
  MessageWriter writer(buffer);
  writer.begin(MessageType::kRefused, MessageHeader{});
  writer.text(std::string(100, 'x'));
  EXPECT_FALSE(writer.ok());
  EXPECT_EQ(writer.finish().size(), sizeof(MessageHeader));
}

TEST_F(Sockets, CarryADescriptor) {
  const int file = open("/dev/null", O_RDWR | O_CLOEXEC);
  ASSERT_TRUE(sendPacket(m_fds[0], helloBytes(), file));
  close(file);
  const Packet packet = receivePacket(m_fds[1], m_buffer);
  ASSERT_EQ(packet.state, Packet::State::kMessage);
  EXPECT_TRUE(readHello(packet.bytes).ok());
  ASSERT_GE(packet.fd, 0);
  EXPECT_NE(fcntl(packet.fd, F_GETFD) & FD_CLOEXEC, 0);
  close(packet.fd);
}

TEST_F(Sockets, SayWhenThereIsNothingAndWhenItIsOver) {
  fcntl(m_fds[1], F_SETFL, O_NONBLOCK);
  EXPECT_EQ(receivePacket(m_fds[1], m_buffer).state, Packet::State::kNothing);
  shutdown(m_fds[0], SHUT_RDWR);
  EXPECT_EQ(receivePacket(m_fds[1], m_buffer).state, Packet::State::kClosed);
}

TEST_F(Sockets, WhoseOtherEndIsGoneRaiseNoSignal) {
  shutdown(m_fds[1], SHUT_RDWR);
  EXPECT_FALSE(sendPacket(m_fds[0], helloBytes()));
}

}  // namespace
}  // namespace plumb::transport
