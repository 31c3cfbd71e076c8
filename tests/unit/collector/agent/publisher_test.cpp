// SPDX-License-Identifier: Apache-2.0
// What threads publish reaches the consumer; what must not be published does not.
#include "collector/agent/publisher.h"

#include <gmock/gmock.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "collector/agent/config.h"
#include "collector/transport/consumer.h"
#include "tests/fakes/allocation_count.h"

namespace plumb::agent {
namespace {

using transport::SegmentConsumer;

CounterSampleRecord sample(double value) {
  return {makeHeader<CounterSampleRecord>(RecordKind::kCounterSample, publisher::threadId()), 1, 0, value};
}

// What a recorder would have read.
struct Read {
  std::vector<double> samples;
  std::map<StringId, std::string> texts;
  std::map<uint32_t, std::string> threadNames;
  int textRecords = 0;
};

class Publisher : public testing::Test {
 protected:
  void SetUp() override {
    setenv("PLUMB_RING_COUNT", "4", 1);
    setenv("PLUMB_RING_BYTES", "65536", 1);
    loadSettings();
    ASSERT_TRUE(publisher::create());
    auto consumer = SegmentConsumer::open(dup(publisher::segmentFd()));
    ASSERT_TRUE(consumer.ok());
    m_consumer.emplace(std::move(consumer).value());
    publisher::go();
  }
  // The publisher lives as long as its process: as in a forked child, it starts anew.
  void TearDown() override { publisher::forgetParent(); }

  Read read() {
    Read result;
    std::vector<uint64_t> buffer(transport::kMinRingBytes / 8);
    for (uint32_t ring = 0; ring < m_consumer->ringCount(); ++ring) {
      for (bool more = true; more;) {
        const transport::Drained drained = m_consumer->drain(ring, std::as_writable_bytes(std::span(buffer)));
        EXPECT_FALSE(drained.corrupt);
        transport::forEachRecord(drained.records, [&](const RecordHeader& header) { take(header, result); });
        more = drained.more;
      }
      (void)m_consumer->drain(ring, std::as_writable_bytes(std::span(buffer)));  // frees a finished ring
    }
    return result;
  }

  std::optional<SegmentConsumer> m_consumer;

 private:
  static void take(const RecordHeader& header, Read& result) {
    if (header.kind == RecordKind::kCounterSample) {
      result.samples.push_back(transport::recordAs<CounterSampleRecord>(header).value);
    } else if (header.kind == RecordKind::kString) {
      const auto& record = transport::recordAs<StringRecord>(header);
      result.texts[record.id] = transport::textOf(record);
      ++result.textRecords;
    } else if (header.kind == RecordKind::kThreadName) {
      result.threadNames[header.tid] = result.texts[transport::recordAs<ThreadNameRecord>(header).name];
    }
  }
};

TEST_F(Publisher, PublishesRecordsInOrder) {
  for (int i = 0; i < 3; ++i) {
    const CounterSampleRecord record = sample(i);
    EXPECT_EQ(publisher::write(&record), 1);
  }
  EXPECT_THAT(read().samples, testing::ElementsAre(0, 1, 2));
}

TEST_F(Publisher, PublishesATextOnce) {
  const StringId id = publisher::intern("forward", SIZE_MAX);
  EXPECT_EQ(publisher::intern("forward!", 7), id);
  EXPECT_EQ(publisher::intern(nullptr, 3), 0u);
  EXPECT_EQ(publisher::intern("", SIZE_MAX), 0u);
  const Read result = read();
  EXPECT_EQ(result.texts.at(id), "forward");
  EXPECT_EQ(result.textRecords - static_cast<int>(result.threadNames.size()), 1);
}

TEST_F(Publisher, CutsEndlessTexts) {
  const std::string endless(kMaxTextBytes + 1000, 'x');
  const StringId id = publisher::intern(endless.c_str(), SIZE_MAX);
  EXPECT_EQ(read().texts.at(id).size(), kMaxTextBytes);
}

TEST_F(Publisher, PublishesATextAgainThatFoundNoRoom) {
  const CounterSampleRecord record = sample(1);
  while (publisher::write(&record) != 0) {
  }
  const StringId id = publisher::intern("late", SIZE_MAX);
  EXPECT_FALSE(read().texts.contains(id));
  EXPECT_EQ(publisher::intern("late", SIZE_MAX), id);
  EXPECT_EQ(read().texts.at(id), "late");
  EXPECT_GE(m_consumer->takeLosses().records, 2u);
}

TEST_F(Publisher, WaitsForRoomOnlyWhenAskedTo) {
  const CounterSampleRecord record = sample(1);
  while (publisher::write(&record) != 0) {
  }
  EXPECT_EQ(publisher::writePatiently(&record, 3'000'000), 0);
  std::thread reader([this] {
    usleep(20'000);
    (void)read();
  });
  EXPECT_EQ(publisher::writePatiently(&record, 10'000'000'000), 1);
  reader.join();
}

TEST_F(Publisher, AllocatesNothingAfterAThreadsFirstRecord) {
  if (!test::allocationsAreCounted()) {
    GTEST_SKIP() << "a sanitizer has a malloc of its own";
  }
  const CounterSampleRecord record = sample(1);
  publisher::write(&record);
  char name[] = "layer 0000";
  const size_t before = test::allocationsOfThisThread();
  for (int i = 0; i < 3000; ++i) {  // more than there is room for
    name[6] = static_cast<char>('0' + i / 1000);
    name[9] = static_cast<char>('0' + i % 10);
    publisher::intern(name, SIZE_MAX);
    publisher::write(&record);
  }
  EXPECT_EQ(test::allocationsOfThisThread(), before);
}

TEST_F(Publisher, NamesThreads) {
  uint32_t tid = 0;
  std::thread thread([&tid] {
    pthread_setname_np(pthread_self(), "loader");
    const CounterSampleRecord record = sample(1);
    publisher::write(&record);
    tid = publisher::threadId();
  });
  thread.join();
  EXPECT_EQ(read().threadNames.at(tid), "loader");
}

TEST_F(Publisher, GivesTheRingOfAThreadThatEndedToAnother) {
  for (int i = 0; i < 20; ++i) {  // four rings
    std::thread([i] {
      const CounterSampleRecord record = sample(i);
      EXPECT_EQ(publisher::write(&record), 1) << i;
    }).join();
    EXPECT_THAT(read().samples, testing::ElementsAre(i));
  }
  EXPECT_EQ(m_consumer->takeLosses().records, 0u);
}

TEST_F(Publisher, CountsWhatThreadsWithoutARingLose) {
  std::atomic<bool> done{false};
  std::atomic<int> written{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      const CounterSampleRecord record = sample(1);
      publisher::write(&record);
      ++written;
      while (!done) {
        usleep(1000);
      }
    });
  }
  while (written < 6) {
    usleep(1000);
  }
  done = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(read().samples.size(), 4u);
  EXPECT_EQ(m_consumer->takeLosses().records, 2u);
}

TEST_F(Publisher, StopsAtOnce) {
  publisher::stop();
  const CounterSampleRecord record = sample(1);
  EXPECT_EQ(publisher::write(&record), 0);
  EXPECT_NE(publisher::intern("x", SIZE_MAX), 0u) << "an id needs no recorder";
  EXPECT_THAT(read().samples, testing::IsEmpty());
}

TEST_F(Publisher, IsSilentInAForkedChild) {
  for (const bool raw : {false, true}) {
    const auto child =
        raw ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)) : fork();
    if (child == 0) {
      const CounterSampleRecord record = sample(1);
      _exit(publisher::write(&record) == 0 && !publisher::live() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0) << raw;
  }
  EXPECT_THAT(read().samples, testing::IsEmpty());
  EXPECT_TRUE(publisher::live());
}

// A handler that interrupts a write anywhere may publish too: it loses its record at worst.
TEST_F(Publisher, SurvivesSignalHandlersThatPublish) {
  struct sigaction action {};
  action.sa_handler = [](int) {
    const CounterSampleRecord record = sample(-1);
    publisher::write(&record);
  };
  sigaction(SIGUSR1, &action, nullptr);
  std::atomic<bool> done{false};
  const pthread_t target = pthread_self();
  std::thread sender([&] {
    for (int i = 0; i < 2000; ++i) {
      pthread_kill(target, SIGUSR1);
      usleep(10);
    }
    done = true;
  });
  double written = 0;
  double seen = 0;
  const auto check = [&] {
    for (const double value : read().samples) {
      if (value >= 0) {
        ASSERT_EQ(value, seen++);
      }
    }
  };
  while (!done) {
    for (int i = 0; i < 200; ++i) {
      const CounterSampleRecord record = sample(written);
      written += publisher::write(&record);
    }
    check();
  }
  sender.join();
  check();
  EXPECT_EQ(seen, written);
  signal(SIGUSR1, SIG_DFL);
}

}  // namespace
}  // namespace plumb::agent
