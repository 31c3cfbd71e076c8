// SPDX-License-Identifier: Apache-2.0
// Targets that are broken or hostile: the recorder survives each, tells of it, and keeps what the others published.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <random>

#include "collector/recorder/recording.h"
#include "tests/support/database.h"
#include "tests/support/process.h"
#include "tests/support/record_writer.h"

namespace plumb::test {
namespace {

using recorder::Recording;

// A record of any kind, well-formed in size, with any content.
std::vector<std::byte> randomRecord(std::mt19937_64& random) {
  const auto kind = static_cast<RecordKind>(random() % (static_cast<uint64_t>(RecordKind::kCount) + 3));
  const uint32_t sizes = 8 + 8 * static_cast<uint32_t>(random() % 24);
  std::vector<std::byte> bytes(sizes);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() % 3 == 0 ? random() : random() % 3);
  RecordHeader header{static_cast<uint16_t>(sizes), kind, static_cast<Clock>(random() % 3),
                      static_cast<uint32_t>(random() % 5)};
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

class CorruptTargets : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    auto file = recorder::createTraceFile(path(), recorder::NameTaken::kRefuse);
    ASSERT_TRUE(file.ok());
    auto started = Recording::start(std::move(file).value(), "fuzz", {});
    ASSERT_TRUE(started.ok());
    m_recording = std::move(started).value();
    // One process that behaves.
    m_recording->add(1, m_good.hello(), m_good.dupSegment());
    m_thread = std::make_unique<RecordWriter>(m_good.thread(1));
    m_name = m_thread->text("good");
  }

  void expectTheGoodOneIsWhole(int64_t kernels) {
    m_recording->noteGoodbye(1);
    m_recording->remove(1);
    const auto outcome = m_recording->finish();
    EXPECT_EQ(outcome.failure, "");
    const Database db(path());
    EXPECT_EQ(db.number("SELECT count(*) FROM kernels WHERE rank = 0"), kernels);
    EXPECT_EQ(db.text("PRAGMA integrity_check"), "ok");
    for (const char* view : {"kernels", "copies", "memory_sets", "api_calls", "ranges", "collectives", "allocations",
                             "synchronizations", "streams", "processes", "devices", "steps", "diagnostics"}) {
      (void)db.number(std::string("SELECT count(*) FROM ") + view);
    }
  }

  [[nodiscard]] std::string path() const { return m_folder.file("run.sqlite"); }

  TemporaryFolder m_folder;
  std::unique_ptr<Recording> m_recording;
  FakeTarget m_good{1, 0};
  std::unique_ptr<RecordWriter> m_thread;
  StringId m_name = 0;
};

TEST_P(CorruptTargets, WhateverRecordsSayNothingBreaks) {
  std::mt19937_64 random(GetParam());
  FakeTarget bad(2, 1);
  m_recording->add(2, bad.hello(), bad.dupSegment());
  std::vector<RecordWriter> threads;
  for (uint32_t tid = 1; tid <= 4; ++tid) threads.push_back(bad.thread(tid));
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 100; ++i) {
      const auto record = randomRecord(random);
      (void)threads[random() % threads.size()].ring().write(record.data(), static_cast<uint32_t>(record.size()));
    }
    m_thread->kernel(m_name, m_good.startNs() + round, m_good.startNs() + round + 1, 1);
    m_recording->drain();
  }
  m_recording->remove(2);
  expectTheGoodOneIsWhole(20);
}

TEST_P(CorruptTargets, BytesThatAreOverwrittenAtAnyTimeBreakNothing) {
  std::mt19937_64 random(GetParam());
  const transport::SegmentLayout layout{.ringCount = 2, .ringBytes = transport::kMinRingBytes};
  FakeTarget bad(2, 1, layout);
  m_recording->add(2, bad.hello(), bad.dupSegment());
  RecordWriter thread = bad.thread(1);
  const int fd = bad.dupSegment();
  auto* bytes =
      static_cast<std::byte*>(::mmap(nullptr, layout.segmentBytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ASSERT_NE(static_cast<void*>(bytes), MAP_FAILED);
  ::close(fd);
  const StringId name = thread.text("bad");
  for (int round = 0; round < 30; ++round) {
    for (uint32_t i = 0; i < 50; ++i) thread.kernel(name, bad.startNs(), bad.startNs() + 5, i);
    for (uint64_t i = 0; i < 1 + random() % 20; ++i) {
      const bool header = random() % 4 == 0;
      const uint64_t offset = header ? random() % (transport::kRingTableOffset + 2 * sizeof(transport::RingHeader))
                                     : layout.dataOffset() + random() % 8192;
      bytes[offset] = static_cast<std::byte>(random());
    }
    m_thread->kernel(m_name, m_good.startNs() + round, m_good.startNs() + round + 1, 1);
    m_recording->drain();
  }
  ::munmap(bytes, layout.segmentBytes());
  m_recording->remove(2);
  expectTheGoodOneIsWhole(30);
}

TEST_P(CorruptTargets, MemoryThatIsNoSegmentIsRefusedWithASentence) {
  std::mt19937_64 random(GetParam());
  FakeTarget bad(2, 1);
  const int fd = ::memfd_create("nonsense", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  std::vector<char> noise(static_cast<size_t>(random() % 20'000));
  for (char& c : noise) c = static_cast<char>(random());
  ASSERT_EQ(::write(fd, noise.data(), noise.size()), static_cast<ssize_t>(noise.size()));
  if (random() % 2 == 0) ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  m_recording->add(2, bad.hello(), fd);
  m_recording->drain();
  m_recording->remove(2);
  expectTheGoodOneIsWhole(0);
  const Database db(path());
  EXPECT_EQ(db.number("SELECT count(*) FROM processes"), 1);
  EXPECT_THAT(db.text("SELECT message FROM diagnostics WHERE name = 'connection_refused'"),
              testing::HasSubstr("train (pid 2)"));
}

INSTANTIATE_TEST_SUITE_P(Seeds, CorruptTargets, testing::Range(1u, 9u));

}  // namespace
}  // namespace plumb::test
