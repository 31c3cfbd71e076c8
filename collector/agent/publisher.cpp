// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/publisher.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "collector/agent/config.h"
#include "collector/agent/seen_set.h"
#include "collector/agent/text_buffer.h"
#include "collector/api/time.h"
#include "collector/transport/producer.h"

namespace plumb::agent::publisher {
namespace {

// One per thread. Plain data: no constructor, no destructor, no heap.
struct ThreadState {
  transport::RingProducer ring;
  uint32_t epoch;  // of the segment that ring belongs to
  uint32_t tid;
  bool busy;   // inside write(): what interrupts it must not touch the ring
  bool ended;  // its last destructors are running
};
thread_local constinit ThreadState t_state{};

// Which attachment of this process is publishing; 0: none. Lies in memory that the kernel zeroes in a forked child, so
// that children which no fork handler knows about (clone, syscalls) are harmless too.
struct Life {
  std::atomic<uint32_t> epoch{0};
};
constinit Life s_noLife;
constinit std::atomic<Life*> s_life{&s_noLife};
constinit uint32_t s_lastEpoch = 0;

constinit transport::SegmentProducer s_segment;
constinit SeenSet s_seen;
constinit pthread_key_t s_threadEnd = 0;
constinit bool s_threadEndMade = false;

constexpr size_t kMaxNamedThreads = 1024;
constinit uint64_t s_publishedNames[kMaxNamedThreads] = {};  // by ring: tid and name, hashed

uint32_t epochNow() noexcept { return s_life.load(std::memory_order_relaxed)->epoch.load(std::memory_order_acquire); }

bool makeLife() noexcept {
  if (s_life.load() != &s_noLife) {
    return true;
  }
  void* page = mmap(nullptr, transport::kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return false;
  }
  madvise(page, transport::kPageBytes, MADV_WIPEONFORK);  // before Linux 4.14 the fork handler alone has to do
  s_life.store(new (page) Life);
  return true;
}

void onThreadEnd(void*) noexcept {
  ThreadState& thread = t_state;
  thread.ended = true;
  if (thread.epoch == epochNow()) {
    thread.ring.finish();
  }
}

void publishOwnName(transport::RingProducer& ring, uint32_t tid) noexcept {
  char name[17] = {};
  if (prctl(PR_GET_NAME, name) != 0) {
    return;
  }
  const std::string_view text{name};
  const StringId id = hashText(text);
  StringRecord string{makeHeader<StringRecord>(RecordKind::kString, tid), id, static_cast<uint32_t>(text.size()), 0};
  string.header.size_bytes = static_cast<uint16_t>((sizeof string + text.size() + 7) & ~size_t{7});
  const ThreadNameRecord record{makeHeader<ThreadNameRecord>(RecordKind::kThreadName, tid), id};
  if (ring.write(&string, sizeof string, text.data(), string.length_bytes)) {
    (void)ring.write(&record, sizeof record);
  }
}

// A thread's first record of this epoch.
bool claimRing(ThreadState& thread, uint32_t epoch) noexcept {
  const int savedErrno = errno;
  thread.ring = s_segment.claimRing(threadId());
  thread.epoch = epoch;
  if (thread.ring.attached()) {
    pthread_setspecific(s_threadEnd, &thread);  // anything but null makes the destructor run
    publishOwnName(thread.ring, thread.tid);
  }
  errno = savedErrno;
  return thread.ring.attached();
}

enum class Outcome { kWritten, kFull, kRefused };

Outcome writeParts(const void* head, uint32_t headBytes, const void* tail, uint32_t tailBytes,
                   bool countFull) noexcept {
  const uint32_t epoch = epochNow();
  if (epoch == 0) {
    return Outcome::kRefused;
  }
  ThreadState& thread = t_state;
  const uint32_t bytes = headBytes + tailBytes;
  if (thread.busy || thread.ended) {
    s_segment.countRingless(bytes);
    return Outcome::kRefused;
  }
  thread.busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  Outcome outcome = Outcome::kWritten;
  if ((thread.epoch != epoch || !thread.ring.attached()) && !claimRing(thread, epoch)) {
    s_segment.countRingless(bytes);
    outcome = Outcome::kRefused;
  } else if (!thread.ring.write(head, headBytes, tail, tailBytes)) {
    outcome = Outcome::kFull;
    if (countFull) {
      thread.ring.countDrop(bytes);
    }
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread.busy = false;
  return outcome;
}

uint32_t sizeOf(const void* record) noexcept {
  RecordHeader header;
  std::memcpy(&header, record, sizeof header);
  return header.size_bytes;
}

}  // namespace

bool create() noexcept {
  if (!makeLife()) {
    return false;
  }
  if (!s_threadEndMade) {
    s_threadEndMade = pthread_key_create(&s_threadEnd, onThreadEnd) == 0;
  }
  (void)s_seen.create();
  if (!s_threadEndMade) {
    return false;
  }
  // Address space may be limited (ulimit -v): smaller rings rather than none.
  for (const transport::SegmentLayout layout : {segmentLayout(), transport::SegmentLayout{64, 1024 * 1024},
                                                transport::SegmentLayout{32, transport::kMinRingBytes * 2}}) {
    if (s_segment.create(layout)) {
      return true;
    }
  }
  return false;
}

int segmentFd() noexcept { return s_segment.fd(); }

void go() noexcept {
  s_segment.closeFd();
  s_life.load()->epoch.store(++s_lastEpoch, std::memory_order_release);
}

void destroy() noexcept {
  s_segment.destroy();
  s_seen.destroy();
}

void stop() noexcept { s_life.load()->epoch.store(0, std::memory_order_release); }

bool live() noexcept { return epochNow() != 0; }

void forgetParent() noexcept {
  stop();
  s_segment.abandon();
  s_seen.destroy();
  std::memset(s_publishedNames, 0, sizeof s_publishedNames);
  t_state = ThreadState{};
}

void finish() noexcept {
  if (live()) {
    s_segment.finish();
  }
}

int write(const void* record) noexcept {
  return writeParts(record, sizeOf(record), nullptr, 0, true) == Outcome::kWritten ? 1 : 0;
}

int writePatiently(const void* record, int64_t waitNs) noexcept {
  const uint32_t bytes = sizeOf(record);
  Outcome outcome = writeParts(record, bytes, nullptr, 0, waitNs <= 0);
  if (outcome != Outcome::kFull || waitNs <= 0) {
    return outcome == Outcome::kWritten ? 1 : 0;
  }
  const int64_t deadline = monotonicNowNs() + waitNs;
  while (outcome == Outcome::kFull) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 200'000};
    nanosleep(&pause, nullptr);
    outcome = writeParts(record, bytes, nullptr, 0, monotonicNowNs() >= deadline);
    if (monotonicNowNs() >= deadline) {
      break;
    }
  }
  return outcome == Outcome::kWritten ? 1 : 0;
}

StringId intern(const char* text, size_t lengthBytes) noexcept {
  if (text == nullptr) {
    return 0;
  }
  const size_t length =
      lengthBytes == SIZE_MAX ? strnlen(text, kMaxTextBytes) : std::min<size_t>(lengthBytes, kMaxTextBytes);
  const StringId id = hashText({text, length});
  if (id == 0 || s_seen.contains(id) || !live()) {
    return id;
  }
  StringRecord record{makeHeader<StringRecord>(RecordKind::kString, threadId()), id, static_cast<uint32_t>(length), 0};
  record.header.size_bytes = static_cast<uint16_t>((sizeof record + length + 7) & ~size_t{7});
  // Published first, marked after: a text that found no room is published again with its next use.
  if (writeParts(&record, sizeof record, text, record.length_bytes, true) == Outcome::kWritten) {
    s_seen.insert(id);
  }
  return id;
}

uint32_t threadId() noexcept {
  ThreadState& thread = t_state;
  if (thread.tid == 0) {
    thread.tid = static_cast<uint32_t>(syscall(SYS_gettid));
  }
  return thread.tid;
}

void publishThreadNames() noexcept {
  if (!live()) {
    return;
  }
  for (uint32_t ring = 0; ring < s_segment.ringCount() && ring < kMaxNamedThreads; ++ring) {
    const uint32_t tid = s_segment.owner(ring);
    if (tid == 0) {
      continue;
    }
    char path[64];
    TextBuffer(path).add("/proc/self/task/").addNumber(tid).add("/comm");
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      continue;
    }
    char name[32];
    ssize_t length = ::read(fd, name, sizeof name);
    ::close(fd);
    if (length > 0 && name[length - 1] == '\n') {
      --length;
    }
    if (length <= 0) {
      continue;
    }
    const uint64_t published = hashText({name, static_cast<size_t>(length)}) ^ (uint64_t{tid} << 32);
    if (published != s_publishedNames[ring]) {
      const StringId id = intern(name, static_cast<size_t>(length));
      const ThreadNameRecord record{makeHeader<ThreadNameRecord>(RecordKind::kThreadName, tid), id};
      if (write(&record) != 0) {
        s_publishedNames[ring] = published;
      }
    }
  }
}

}  // namespace plumb::agent::publisher
