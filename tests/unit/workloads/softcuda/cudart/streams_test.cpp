// SPDX-License-Identifier: Apache-2.0
// Order and concurrency of streams and events. Host functions that wait for each other prove what runs at the same
// time, so that no test depends on how fast anything is.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace {

// A host function that holds its stream until it is opened.
class Gate {
 public:
  ~Gate() { EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess); }  // the stream has left it
  static void wait(void* self) {
    auto* gate = static_cast<Gate*>(self);
    gate->m_reached.set_value();
    gate->m_open.get_future().wait();
  }
  void close(cudaStream_t stream) { ASSERT_EQ(cudaLaunchHostFunc(stream, &Gate::wait, this), cudaSuccess); }
  void open() { m_open.set_value(); }
  void untilReached() { m_reached.get_future().wait(); }

 private:
  std::promise<void> m_open;
  std::promise<void> m_reached;
};

struct Append {
  std::string* text;
  char letter;
  static void run(void* self) {
    auto* append = static_cast<Append*>(self);
    append->text->push_back(append->letter);
  }
};

class Streams : public testing::Test {
 protected:
  cudaStream_t stream(unsigned flags = cudaStreamDefault) {
    cudaStream_t created = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&created, flags), cudaSuccess);
    m_streams.push_back(created);
    return created;
  }
  cudaEvent_t event(unsigned flags = cudaEventDefault) {
    cudaEvent_t created = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&created, flags), cudaSuccess);
    m_events.push_back(created);
    return created;
  }
  void append(cudaStream_t on, char letter) {
    m_appends.push_back(std::make_unique<Append>(Append{&m_text, letter}));
    ASSERT_EQ(cudaLaunchHostFunc(on, &Append::run, m_appends.back().get()), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (cudaStream_t created : m_streams) EXPECT_EQ(cudaStreamDestroy(created), cudaSuccess);
    for (cudaEvent_t created : m_events) EXPECT_EQ(cudaEventDestroy(created), cudaSuccess);
    cudaGetLastError();
  }
  std::string m_text;

 private:
  std::vector<cudaStream_t> m_streams;
  std::vector<cudaEvent_t> m_events;
  std::vector<std::unique_ptr<Append>> m_appends;
};

TEST_F(Streams, WorkIsQueuedAndRunsInOrder) {
  Gate gate;
  const cudaStream_t s = stream();
  gate.close(s);
  for (const char letter : {'a', 'b', 'c'}) append(s, letter);
  EXPECT_EQ(cudaStreamQuery(s), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  gate.open();
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(m_text, "abc");
  EXPECT_EQ(cudaStreamQuery(s), cudaSuccess);
}

TEST_F(Streams, TwoStreamsOverlap) {
  struct Meeting {
    std::promise<void> mine;
    std::promise<void>* other = nullptr;
    static void run(void* self) {
      auto* meeting = static_cast<Meeting*>(self);
      meeting->mine.set_value();
      meeting->other->get_future().wait();
    }
  } first, second;
  first.other = &second.mine;
  second.other = &first.mine;
  const cudaStream_t a = stream();
  const cudaStream_t b = stream();
  ASSERT_EQ(cudaLaunchHostFunc(a, &Meeting::run, &first), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(b, &Meeting::run, &second), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // each waits for the other to have begun
}

TEST_F(Streams, TheDefaultStreamWaitsForBlockingStreamsAndTheyForIt) {
  Gate gate;
  const cudaStream_t before = stream();
  const cudaStream_t after = stream();
  gate.close(before);
  append(before, 'a');
  append(nullptr, 'b');
  append(after, 'c');
  EXPECT_EQ(cudaStreamQuery(after), cudaErrorNotReady);
  gate.open();
  EXPECT_EQ(cudaStreamSynchronize(after), cudaSuccess);
  EXPECT_EQ(m_text, "abc");
}

TEST_F(Streams, ANonBlockingStreamIgnoresTheDefaultStream) {
  Gate gate;
  const cudaStream_t independent = stream(cudaStreamNonBlocking);
  gate.close(independent);
  append(nullptr, 'a');
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);  // though the other stream stands still
  EXPECT_EQ(m_text, "a");
  gate.open();
}

TEST_F(Streams, SynchronizingTheDefaultStreamWaitsForBlockingStreams) {
  const cudaStream_t s = stream();
  Gate gate;
  gate.close(s);
  append(s, 'a');
  std::thread opener([&] {
    gate.untilReached();
    gate.open();
  });
  EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
  EXPECT_EQ(m_text, "a");
  opener.join();
}

TEST_F(Streams, ThePerThreadStreamIsOnePerThread) {
  unsigned long long mine = 0;
  unsigned long long again = 0;
  unsigned long long others = 0;
  ASSERT_EQ(cudaStreamGetId(cudaStreamPerThread, &mine), cudaSuccess);
  ASSERT_EQ(cudaStreamGetId(cudaStreamPerThread, &again), cudaSuccess);
  std::thread([&] { ASSERT_EQ(cudaStreamGetId(cudaStreamPerThread, &others), cudaSuccess); }).join();
  EXPECT_EQ(mine, again);
  EXPECT_NE(mine, others);
}

TEST_F(Streams, AStreamWaitsForAnEventOfAnother) {
  Gate gate;
  const cudaStream_t producer = stream(cudaStreamNonBlocking);
  const cudaStream_t consumer = stream(cudaStreamNonBlocking);
  const cudaEvent_t ready = event(cudaEventDisableTiming);
  gate.close(producer);
  append(producer, 'p');
  ASSERT_EQ(cudaEventRecord(ready, producer), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(consumer, ready, 0), cudaSuccess);
  append(consumer, 'c');
  EXPECT_EQ(cudaEventQuery(ready), cudaErrorNotReady);
  gate.open();
  EXPECT_EQ(cudaStreamSynchronize(consumer), cudaSuccess);
  EXPECT_EQ(m_text, "pc");
}

TEST_F(Streams, AWaitMeansTheRecordBeforeItNotALaterOne) {
  Gate later;
  const cudaStream_t producer = stream(cudaStreamNonBlocking);
  const cudaStream_t consumer = stream(cudaStreamNonBlocking);
  const cudaEvent_t mark = event();
  ASSERT_EQ(cudaEventRecord(mark, producer), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(consumer, mark, 0), cudaSuccess);
  later.close(producer);
  ASSERT_EQ(cudaEventRecord(mark, producer), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(consumer), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(mark), cudaErrorNotReady);
  later.open();
  EXPECT_EQ(cudaEventSynchronize(mark), cudaSuccess);
}

TEST_F(Streams, AnEventThatWasNeverRecordedIsDone) {
  const cudaEvent_t never = event();
  EXPECT_EQ(cudaEventQuery(never), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(never), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream(), never, 0), cudaSuccess);
}

TEST_F(Streams, ElapsedTimeNeedsTwoFinishedTimedRecords) {
  const cudaStream_t s = stream();
  const cudaEvent_t start = event();
  const cudaEvent_t end = event();
  const cudaEvent_t untimed = event(cudaEventDisableTiming);
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaErrorInvalidResourceHandle);  // never recorded
  Gate gate;
  ASSERT_EQ(cudaEventRecord(start, s), cudaSuccess);
  gate.close(s);
  ASSERT_EQ(cudaEventRecord(end, s), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaErrorNotReady);
  gate.open();
  ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaSuccess);
  EXPECT_GE(ms, 0.0f);
  ASSERT_EQ(cudaEventRecord(untimed, s), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, untimed), cudaErrorInvalidResourceHandle);
}

TEST_F(Streams, WorkOfADestroyedStreamIsStillDone) {
  Gate gate;
  cudaStream_t s = nullptr;
  ASSERT_EQ(cudaStreamCreate(&s), cudaSuccess);
  gate.close(s);
  append(s, 'a');
  EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
  gate.open();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(m_text, "a");
}

TEST_F(Streams, AQueueFillsUpAndThenTheHostWaits) {
  constexpr int kMany = 5000;
  Gate gate;
  const cudaStream_t s = stream(cudaStreamNonBlocking);
  gate.close(s);
  std::atomic<int> queued{0};
  std::atomic<int> ran{0};
  std::thread host([&] {
    for (int i = 0; i < kMany; ++i) {
      cudaLaunchHostFunc(
          s, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &ran);
      ++queued;
    }
  });
  gate.untilReached();
  EXPECT_LT(queued.load(), kMany);
  gate.open();
  host.join();
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(ran.load(), kMany);
}

TEST_F(Streams, OneEventRecordedMoreOftenThanTheQueueIsLong) {
  const cudaStream_t s = stream();
  const cudaEvent_t mark = event();
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(cudaEventRecord(mark, s), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(mark), cudaSuccess);
}

TEST_F(Streams, HostFunctionsMayNotCallCuda) {
  cudaError_t result = cudaSuccess;
  ASSERT_EQ(cudaLaunchHostFunc(
                nullptr, [](void* out) { *static_cast<cudaError_t*>(out) = cudaDeviceSynchronize(); }, &result),
            cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(result, cudaErrorNotPermitted);
}

TEST_F(Streams, PrioritiesAreAcceptedAndClamped) {
  int least = 1;
  int greatest = 1;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, 0);
  cudaStream_t s = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest - 10), cudaSuccess);
  int priority = 0;
  unsigned flags = 0;
  EXPECT_EQ(cudaStreamGetPriority(s, &priority), cudaSuccess);
  EXPECT_EQ(cudaStreamGetFlags(s, &flags), cudaSuccess);
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
  EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
}

TEST_F(Streams, WrongArgumentsAreErrors) {
  cudaStream_t s = nullptr;
  cudaEvent_t e = nullptr;
  EXPECT_EQ(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamCreateWithFlags(&s, 77), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventCreateWithFlags(&e, 1u << 20), cudaErrorInvalidValue);
  int local = 0;
  const auto nobody = reinterpret_cast<cudaStream_t>(&local);
  EXPECT_EQ(cudaStreamSynchronize(nobody), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(nullptr, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaLaunchHostFunc(nullptr, nullptr, nullptr), cudaErrorInvalidValue);
}

// Captures `work` on the stream; null and an error if that fails.
template <class Work>
cudaGraphExec_t capture(cudaStream_t on, Work&& work) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  work();
  EXPECT_EQ(cudaStreamEndCapture(on, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  return executable;
}

TEST_F(Streams, ACapturedGraphRunsAsOftenAsItIsLaunched) {
  const cudaStream_t s = stream();
  cudaGraphExec_t graph = capture(s, [&] {
    append(s, 'a');
    append(s, 'b');
  });
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(m_text, "") << "capturing runs nothing";
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(graph, s), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(graph), cudaSuccess);  // its launches are still to be done
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(m_text, "ababab");
}

TEST_F(Streams, ACaptureSpreadsAlongEvents) {
  const cudaStream_t s = stream();
  const cudaStream_t side = stream();
  const cudaEvent_t fork = event(cudaEventDisableTiming);
  const cudaEvent_t join = event(cudaEventDisableTiming);
  cudaGraphExec_t graph = capture(s, [&] {
    append(s, 'a');
    ASSERT_EQ(cudaEventRecord(fork, s), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
    append(side, 'b');
    ASSERT_EQ(cudaEventRecord(join, side), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(s, join, 0), cudaSuccess);
    append(s, 'c');
  });
  ASSERT_EQ(cudaGraphLaunch(graph, s), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(m_text, "abc");
  append(side, 'd');  // no longer captured
  EXPECT_EQ(cudaStreamSynchronize(side), cudaSuccess);
  EXPECT_EQ(m_text, "abcd");
  EXPECT_EQ(cudaGraphExecDestroy(graph), cudaSuccess);
}

TEST_F(Streams, WaitingWithinACaptureMakesItVoid) {
  const cudaStream_t s = stream();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorIllegalState);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(s, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(cudaStreamIsCapturing(s, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
}

}  // namespace
