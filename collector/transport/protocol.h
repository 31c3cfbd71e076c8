// SPDX-License-Identifier: Apache-2.0
// What is said over the session's socket. SOCK_SEQPACKET: one packet is one message, MessageHeader first.
//
// A session is a directory (mode 0700, of the user's) that PLUMB_SESSION_DIR names; in it the socket kSocketName.
// Whoever starts the recorder binds the socket and listens, and hands it over as an inherited descriptor (--listen-fd),
// so that a target can connect at once and never waits for the recorder to come up.
//
//   plumb-recorder --session DIR --output FILE [--listen-fd N] [--root-pid PID] [--command TEXT] [--foreground]
//
// With --listen-fd the recorder accepts on N; without, it binds DIR/kSocketName itself. It ends
//   - under a launcher (somebody connected with kControl): when that connection sent kFinish or closed, and all
//     connections of targets have ended;
//   - with --root-pid (preload alone): when that process is gone and no target has been connected for 1 s.
// With --root-pid nobody can be asked: an existing FILE is never touched, the next free name FILE-2, -3 … (before the
// extension) is taken. Without it, an existing FILE is refused (kRefused): the launcher has removed it if told to.
// At the end the recorder removes the socket, serves whoever connected before that, removes DIR and ends.
//
//   target -> recorder     kHello with the memfd of its segment (SCM_RIGHTS), then kGoodbye; nothing if it is killed.
//                          The end of the connection is the end of the process: the recorder drains what is left.
//   launcher -> recorder   kControl, then kFinish.
//   recorder -> launcher   kReady or kRefused after kControl; kSummary after the file is complete, then it closes.
// The recorder never answers a target, and a target never waits.
//
// A StringId is a hash of its text's bytes, the same in every process: the recorder keeps one table per session. The
// text may come after a record that names it (another thread published it first), and, if a ring was full, from another
// process or never.
//
// Messages grow at their end only; a reader skips what it does not know. Texts: uint32_t length, bytes, no terminator.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/schema/result.h"

namespace plumb::transport {

inline constexpr uint16_t kProtocolVersion = 1;
inline constexpr uint32_t kMaxMessageBytes = 64 * 1024;
inline constexpr const char* kSocketName = "recorder.sock";
inline constexpr const char* kLockName = "lock";  // flock'ed while a recorder is being started

inline constexpr const char* kSessionVariable = "PLUMB_SESSION_DIR";
inline constexpr const char* kOutputVariable = "PLUMB_OUTPUT";

enum class MessageType : uint16_t {
  kHello = 1,    // HelloMessage, texts: program, command, host, then variable_count × (name, value)
  kGoodbye = 2,  // MessageHeader
  kControl = 3,  // ControlMessage
  kFinish = 4,   // MessageHeader
  kReady = 5,    // MessageHeader, text: the file that is being written
  kRefused = 6,  // MessageHeader, text: one sentence for the user
  kSummary = 7,  // SummaryMessage, texts: the file; why lanes are off, a sentence a line
};

struct MessageHeader {
  uint32_t size_bytes;  // of the whole message
  MessageType type;
  uint16_t version;  // kProtocolVersion of the sender
};

inline constexpr int32_t kUnknownRank = -1;

struct HelloMessage {
  MessageHeader header;
  uint32_t pid;
  uint32_t parent_pid;
  int64_t monotonic_ns;  // when the agent attached; one instant
  int64_t realtime_ns;
  int64_t process_start_ticks;  // field 22 of /proc/pid/stat: tells a reused pid apart
  int32_t rank;                 // kUnknownRank: the environment names none
  int32_t local_rank;
  int32_t world_size;
  uint32_t variable_count;
};

struct ControlMessage {
  MessageHeader header;
  uint32_t pid;  // the launcher's
  uint32_t reserved;
};

struct SummaryMessage {
  MessageHeader header;
  uint64_t event_count;    // rows of all event tables
  uint64_t dropped_count;  // records that were lost on the way
  uint32_t process_count;
  uint32_t diagnostic_count;  // warnings and errors
};

static_assert(sizeof(HelloMessage) == 56 && sizeof(SummaryMessage) == 32);

inline constexpr size_t kMaxCommandBytes = 4096;
inline constexpr size_t kMaxVariables = 128;
inline constexpr size_t kMaxVariableBytes = 1024;

// ---- writing: into the caller's memory, no allocation -------------------------------------------------------------

// Builds one message. Texts that do not fit any more are left out whole; ok() is then false.
class MessageWriter {
 public:
  explicit MessageWriter(std::span<std::byte> buffer) noexcept : m_buffer(buffer) {}

  // The fixed part, first; fills in its header.
  template <class Fixed>
  void begin(MessageType type, Fixed fixed) noexcept {
    MessageHeader& header = headerOf(fixed);
    header.type = type;
    header.version = kProtocolVersion;
    append(&fixed, sizeof fixed);
  }
  void text(std::string_view text) noexcept;
  // The message, its size filled in.
  [[nodiscard]] std::span<const std::byte> finish() noexcept;
  [[nodiscard]] bool ok() const noexcept { return m_ok; }
  [[nodiscard]] size_t room() const noexcept { return m_buffer.size() - m_size; }

 private:
  static MessageHeader& headerOf(MessageHeader& header) noexcept { return header; }
  template <class Fixed>
  static MessageHeader& headerOf(Fixed& fixed) noexcept {
    return fixed.header;
  }
  void append(const void* bytes, size_t count) noexcept;

  std::span<std::byte> m_buffer;
  size_t m_size = 0;
  bool m_ok = true;
};

// ---- reading: any bytes may come ------------------------------------------------------------------------------------

struct Hello {
  HelloMessage fixed{};
  std::string program;  // base name of the executable
  std::string command;  // argv joined by blanks
  std::string host;
  std::vector<std::pair<std::string, std::string>> variables;
};

struct TextMessage {
  MessageType type{};
  std::string text;
};

struct Summary {
  SummaryMessage fixed{};
  std::string file;
  std::string lanesOff;  // a sentence a line
};

// The header of a packet whose size and version make sense.
[[nodiscard]] Result<MessageHeader> readHeader(std::span<const std::byte> packet);
[[nodiscard]] Result<Hello> readHello(std::span<const std::byte> packet);
[[nodiscard]] Result<TextMessage> readText(std::span<const std::byte> packet);  // kReady, kRefused
[[nodiscard]] Result<Summary> readSummary(std::span<const std::byte> packet);

// ---- sockets -----------------------------------------------------------------------------------------------------

// Sends one packet, with fd attached unless it is -1. Never raises SIGPIPE. False, errno set: not sent.
[[nodiscard]] bool sendPacket(int socket, std::span<const std::byte> packet, int fd = -1) noexcept;

struct Packet {
  enum class State { kMessage, kNothing, kClosed };
  State state = State::kClosed;
  std::span<const std::byte> bytes;  // a part of the caller's buffer
  int fd = -1;                       // the caller's; surplus descriptors were closed
};
// Receives one packet; kNothing only from a socket that does not block. buffer: kMaxMessageBytes.
[[nodiscard]] Packet receivePacket(int socket, std::span<std::byte> buffer) noexcept;

}  // namespace plumb::transport
