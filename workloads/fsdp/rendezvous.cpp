// SPDX-License-Identifier: Apache-2.0
// Where the ranks meet before NCCL: one TCP connection from each rank to rank 0.
#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "workloads/fsdp/communicator.h"
#include "workloads/nn/device_choice.h"

namespace plumb::fsdp {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{60};
constexpr std::string_view kGreeting = "plumb-fsdp-1";  // keeps strangers who connect to the port out

std::string required(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value)
    throw nn::UsageError(std::string(name) + " is not set, although RANK is: start with --ranks N, or with torchrun");
  return value;
}

int requiredNumber(const char* name) {
  const std::string text = required(name);
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (*end || number < 0 || number > 65535) throw nn::UsageError(std::string(name) + "='" + text + "' is not a number");
  return static_cast<int>(number);
}

class Socket {
 public:
  explicit Socket(int descriptor) : m_descriptor(descriptor) {}
  ~Socket() {
    if (m_descriptor >= 0) close(m_descriptor);
  }
  Socket(Socket&& other) noexcept : m_descriptor(std::exchange(other.m_descriptor, -1)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return m_descriptor; }

 private:
  int m_descriptor;
};

std::string place(const RankEnvironment& e) { return e.masterAddress + ":" + std::to_string(e.masterPort); }

sockaddr_in resolve(const RankEnvironment& e) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(e.masterAddress.c_str(), nullptr, &hints, &found) != 0 || !found)
    throw std::runtime_error("MASTER_ADDR '" + e.masterAddress + "' cannot be resolved");
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof address);
  freeaddrinfo(found);
  address.sin_port = htons(static_cast<uint16_t>(e.masterPort));
  return address;
}

bool sendAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool receiveAll(int descriptor, char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t received = recv(descriptor, bytes, count, 0);
    if (received <= 0) return false;
    bytes += received;
    count -= static_cast<size_t>(received);
  }
  return true;
}

Socket makeSocket() {
  Socket made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{5, 0};
  setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return made;
}

void serve(const RankEnvironment& e, const std::string& bytes) {
  const Socket listener = makeSocket();
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = resolve(e);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener.get(), e.worldSize) != 0)
    throw std::runtime_error("rank 0 cannot listen at " + place(e) +
                             " (MASTER_ADDR:MASTER_PORT): " + std::strerror(errno));
  const auto deadline = Clock::now() + kPatience;
  for (int missing = e.worldSize - 1; missing > 0;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{listener.get(), POLLIN, 0};
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) <= 0)
      throw std::runtime_error("rank 0 waited a minute at " + place(e) + ": " + std::to_string(missing) + " of " +
                               std::to_string(e.worldSize) + " ranks did not come");
    const Socket peer(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const timeval limit{5, 0};
    setsockopt(peer.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char greeting[kGreeting.size()];
    if (peer.get() < 0 || !receiveAll(peer.get(), greeting, sizeof greeting)) continue;
    if (std::string_view(greeting, sizeof greeting) == kGreeting && sendAll(peer.get(), bytes)) --missing;
  }
}

std::string fetch(const RankEnvironment& e, size_t count) {
  const sockaddr_in address = resolve(e);
  const auto deadline = Clock::now() + kPatience;
  std::string bytes(count, '\0');
  while (Clock::now() < deadline) {
    const Socket connection = makeSocket();
    if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        sendAll(connection.get(), kGreeting) && receiveAll(connection.get(), bytes.data(), count))
      return bytes;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error("rank " + std::to_string(e.rank) + " tried for a minute to reach rank 0 at " + place(e) +
                           " (MASTER_ADDR:MASTER_PORT)");
}

}  // namespace

bool RankEnvironment::present() { return std::getenv("RANK") && std::getenv("WORLD_SIZE"); }

RankEnvironment RankEnvironment::read() {
  RankEnvironment e;
  e.rank = requiredNumber("RANK");
  e.worldSize = requiredNumber("WORLD_SIZE");
  e.localRank = std::getenv("LOCAL_RANK") ? requiredNumber("LOCAL_RANK") : e.rank;
  if (e.worldSize < 1 || e.rank >= e.worldSize)
    throw nn::UsageError("RANK=" + std::to_string(e.rank) + " is not below WORLD_SIZE=" + std::to_string(e.worldSize));
  if (e.worldSize == 1) return e;
  e.masterAddress = required("MASTER_ADDR");
  e.masterPort = requiredNumber("MASTER_PORT");
  // torchrun itself listens at MASTER_PORT then.
  const char* agentStore = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  if (agentStore && std::string_view(agentStore) == "True") ++e.masterPort;
  return e;
}

std::string broadcastFromRankZero(const RankEnvironment& environment, const std::string& bytes) {
  if (environment.rank != 0) return fetch(environment, bytes.size());
  serve(environment, bytes);
  return bytes;
}

}  // namespace plumb::fsdp
