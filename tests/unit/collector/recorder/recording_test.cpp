// SPDX-License-Identifier: Apache-2.0
// From records in a real segment to rows: what a target publishes is what SQL finds.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>

#include "collector/recorder/recording.h"
#include "tests/support/database.h"
#include "tests/support/process.h"
#include "tests/support/record_writer.h"

namespace plumb::recorder {
namespace {

using test::Database;
using test::FakeTarget;
using test::RecordWriter;
using testing::ElementsAre;
using Row = Database::Row;

class RecordingTest : public testing::Test {
 protected:
  void SetUp() override {
    auto file = createTraceFile(path(), NameTaken::kRefuse);
    ASSERT_TRUE(file.ok()) << file.error().message;
    std::ofstream(m_folder.file("roofs.json"))
        << R"({"ab000000000000000000000000000000": {"roofs": {"fp32": 1.5e9, "fp16": "fast"}}, "other": 3})";
    auto started = Recording::start(std::move(file).value(), "train", Roofs::read(m_folder.file("roofs.json")));
    ASSERT_TRUE(started.ok()) << started.error().message;
    m_recording = std::move(started).value();
  }

  void connect(FakeTarget& target, int64_t id = 1) { m_recording->add(id, target.hello(), target.dupSegment()); }

  // The target ends normally; the file is complete afterwards.
  Database finish(bool goodbye = true) {
    if (goodbye) m_recording->noteGoodbye(1);
    m_recording->remove(1);
    const auto outcome = m_recording->finish();
    EXPECT_EQ(outcome.failure, "");
    return Database(path());
  }

  [[nodiscard]] std::string path() const { return m_folder.file("run.sqlite"); }

  test::TemporaryFolder m_folder;
  std::unique_ptr<Recording> m_recording;
  FakeTarget m_target;
};

TEST_F(RecordingTest, AKernelHasItsNamesItsTimeAndItsStream) {
  RecordWriter thread = m_target.thread(100);
  const int64_t t = m_target.startNs();
  thread.kernel(thread.text("_ZN2nn7rmsNormIfEEvPKT_PS1_i"), t + 1000, t + 3500, 42);
  connect(m_target);
  m_recording->drain();
  const Database db = finish();
  EXPECT_THAT(db.rows("SELECT rank, start_ns, duration_ns, name, full_name, stream, correlation, block_x FROM kernels"),
              ElementsAre(Row{"0", "1000", "2500", "rmsNorm", "void nn::rmsNorm<float>(float const*, float*, int)", "7",
                              "42", "256"}));
}

TEST_F(RecordingTest, ATextThatComesAfterItsRecordFromAnotherThreadIsWaitedFor) {
  RecordWriter thread = m_target.thread(100);
  RecordWriter other = m_target.thread(101);
  const int64_t t = m_target.startNs();
  connect(m_target);
  thread.apiCall(test::textId("cudaLaunchKernel"), t, t + 10, 1);
  m_recording->drain();
  other.text("cudaLaunchKernel");
  m_recording->drain();
  const Database db = finish();
  EXPECT_THAT(db.rows("SELECT name, tid, layer FROM api_calls"),
              ElementsAre(Row{"cudaLaunchKernel", "100", "runtime"}));
  EXPECT_EQ(db.number("SELECT count(*) FROM diagnostics"), 0);
}

TEST_F(RecordingTest, ATextThatNeverComesIsAQuestionMarkAndADiagnostic) {
  RecordWriter thread = m_target.thread(100);
  connect(m_target);
  thread.apiCall(test::textId("lost"), m_target.startNs(), m_target.startNs() + 10, 1);
  const Database db = finish();
  EXPECT_THAT(db.rows("SELECT name FROM api_calls"), ElementsAre(Row{"?"}));
  EXPECT_THAT(db.rows("SELECT name, severity, count FROM diagnostics"),
              ElementsAre(Row{"unknown_text", "warning", "1"}));
}

TEST_F(RecordingTest, RangesNestAcrossDomainsAndCarryTheirPayload) {
  RecordWriter thread = m_target.thread(100);
  const int64_t t = m_target.startNs();
  connect(m_target);
  thread.push(thread.text("step"), t + 100);
  thread.payload(thread.text("payload"), 3);
  thread.push(thread.text("gather"), t + 200, thread.text("NCCL"));
  thread.pop(t + 300, test::textId("NCCL"));
  thread.pop(t + 400);
  thread.push(thread.text("unfinished"), t + 500);
  const Database db = finish();
  EXPECT_THAT(db.rows("SELECT r.name, r.start_ns, r.duration_ns, r.depth, p.name, r.domain FROM ranges r "
                      "LEFT JOIN ranges p ON p.id = r.parent_id ORDER BY r.start_ns"),
              ElementsAre(Row{"step", "100", "300", "0", "NULL", ""}, Row{"gather", "200", "100", "1", "step", "NCCL"},
                          Row{"unfinished", "500", "NULL", "0", "NULL", ""}));
  EXPECT_THAT(db.rows("SELECT r.name, n.text, value FROM range_payload p JOIN ranges r ON r.id = p.range_id "
                      "JOIN string n ON n.id = p.name_id"),
              ElementsAre(Row{"step", "payload", "3"}));
}

TEST_F(RecordingTest, CuptiTimesAreConvertedThroughTheClockPairsAroundThem) {
  RecordWriter thread = m_target.thread(100);
  const int64_t t = m_target.startNs();
  const int64_t cupti = 5'000'000'000'000;
  connect(m_target);
  thread.clockPair(t, cupti);
  thread.kernel(thread.text("k"), cupti + 500'000, cupti + 700'000, 1, 7, Clock::kCupti);
  m_recording->drain();
  thread.clockPair(t + 1'001'000, cupti + 1'000'000);  // CUPTI's clock loses a thousandth
  const Database db = finish();
  EXPECT_THAT(db.rows("SELECT start_ns, duration_ns FROM kernels"), ElementsAre(Row{"500500", "200200"}));
}

TEST_F(RecordingTest, AnEventWithoutAUsableTimeIsKeptFlaggedAndCounted) {
  RecordWriter thread = m_target.thread(100);
  const int64_t t = m_target.startNs();
  connect(m_target);
  const StringId name = thread.text("k");
  thread.kernel(name, 0, 0, 1);
  thread.kernel(name, t + 500, t + 400, 2);
  thread.kernel(name, t + 500, t + 500, 3);
  thread.kernel(name, t + 100 * int64_t{3'600'000'000'000}, t + 101 * int64_t{3'600'000'000'000}, 4);
  const Database db = finish();
  EXPECT_THAT(db.rows("SELECT correlation, flags & 1, duration_ns FROM kernels ORDER BY correlation"),
              ElementsAre(Row{"1", "1", "0"}, Row{"2", "1", "0"}, Row{"3", "0", "0"}, Row{"4", "1", "0"}));
  EXPECT_THAT(db.rows("SELECT name, lane, count FROM diagnostics"), ElementsAre(Row{"bad_time", "cupti", "3"}));
}

TEST_F(RecordingTest, AnAllocationKnowsWhenItWasFreedAndWhatItHolds) {
  RecordWriter thread = m_target.thread(100);
  const int64_t t = m_target.startNs();
  connect(m_target);
  thread.allocate(t + 10, 0x1000, 256);
  MemoryRegionRecord region{};
  region.time_ns = t + 20;
  region.address = 0x1000;
  region.bytes = 256;
  region.name = thread.text("optimizer state/block 3/wq.m");
  thread.write(RecordKind::kMemoryRegion, region);
  thread.free(t + 90, 0x1000);
  thread.allocate(t + 95, 0x1000, 512);
  thread.free(t + 99, 0x2000);  // allocated before the recording
  const Database db = finish();
  EXPECT_THAT(
      db.rows("SELECT start_ns, bytes, freed_ns, category, category_source, space FROM allocations ORDER BY id"),
      ElementsAre(Row{"10", "256", "90", "optimizer_state", "declared", "device"},
                  Row{"95", "512", "NULL", "unattributed", "NULL", "device"}));
  EXPECT_THAT(db.rows("SELECT name, severity FROM diagnostics"), ElementsAre(Row{"unknown_free", "info"}));
}

TEST_F(RecordingTest, ACollectiveIsJoinedCountedInNcclsBytesAndLinkedToItsKernel) {
  RecordWriter thread = m_target.thread(100);
  RecordWriter proxy = m_target.thread(101);
  const int64_t t = m_target.startNs();
  connect(m_target);
  CollectiveRecord call{};
  call.start_ns = t + 10;
  call.end_ns = t + 30;
  call.event_id = 9;
  call.communicator_hash = 0xFEED;
  call.operation = thread.text("AllGather");
  call.datatype = thread.text("ncclBfloat16");
  call.element_count = 1000;
  call.root = call.peer = -1;
  thread.write(RecordKind::kCollective, call);
  m_recording->drain();
  CommunicatorRecord communicator{};
  communicator.hash = 0xFEED;
  communicator.n_ranks = 4;
  communicator.rank = 2;
  communicator.n_nodes = 1;
  proxy.write(RecordKind::kCommunicator, communicator);
  CollectiveDetailRecord detail{};
  detail.peer = -1;
  detail.event_id = 9;
  detail.sequence = 17;
  detail.external_id = 5;
  detail.algorithm = proxy.text("RING");
  detail.protocol = proxy.text("SIMPLE");
  detail.channels = 2;
  proxy.write(RecordKind::kCollectiveDetail, detail);
  CorrelationLinkRecord link{};
  link.external_id = 5;
  link.correlation = 77;
  thread.write(RecordKind::kCorrelationLink, link);
  thread.kernel(thread.text("ncclDevKernel_AllGather_RING_LL"), t + 40, t + 140, 77);
  const Database db = finish();
  EXPECT_THAT(
      db.rows("SELECT operation, bytes, element_count, n_ranks, communicator_rank, sequence, algorithm, "
              "protocol, channels, root, device_start_ns, device_duration_ns FROM collectives"),
      ElementsAre(Row{"AllGather", "8000", "1000", "4", "2", "17", "RING", "SIMPLE", "2", "NULL", "40", "100"}));
}

TEST_F(RecordingTest, CopiesSetsAndWaitsNameTheirStream) {
  RecordWriter thread = m_target.thread(100);
  const int64_t t = m_target.startNs();
  connect(m_target);
  MemoryCopyRecord copy{};
  copy.start_ns = t + 10;
  copy.end_ns = t + 30;
  copy.bytes = 4096;
  copy.copy_kind = 1;
  copy.source_kind = 2;
  copy.target_kind = 3;
  copy.is_async = 1;
  copy.context = 1;
  copy.stream = 13;
  copy.correlation = 5;
  thread.write(RecordKind::kMemoryCopy, copy);
  MemorySetRecord set{};
  set.start_ns = t + 40;
  set.end_ns = t + 41;
  set.bytes = 64;
  set.value = 255;
  set.context = 1;
  set.stream = 13;
  thread.write(RecordKind::kMemorySet, set);
  SynchronizationRecord wait{};
  wait.start_ns = t + 5;
  wait.end_ns = t + 50;
  wait.kind = 3;
  wait.context = 1;
  wait.stream = 13;
  thread.write(RecordKind::kSynchronization, wait);
  StreamRecord stream{};
  stream.context = 1;
  stream.number = 13;
  stream.priority = -1;
  stream.kind = 2;
  stream.name = thread.text("copies");
  thread.write(RecordKind::kStream, stream);
  const Database db = finish();
  EXPECT_THAT(db.rows("SELECT start_ns, duration_ns, bytes, copy_kind, source_kind, target_kind, is_async, stream, "
                      "correlation, flags FROM copies"),
              ElementsAre(Row{"10", "20", "4096", "HtoD", "pinned", "device", "1", "13", "5", "0"}));
  EXPECT_THAT(db.rows("SELECT duration_ns, bytes, value, stream FROM memory_sets"),
              ElementsAre(Row{"1", "64", "255", "13"}));
  EXPECT_THAT(db.rows("SELECT name, duration_ns, stream FROM synchronizations"),
              ElementsAre(Row{"stream synchronize", "45", "13"}));
  EXPECT_THAT(db.rows("SELECT name, stream, device, priority, kind FROM streams"),
              ElementsAre(Row{"copies", "13", "0", "-1", "non-blocking"}));
}

TEST_F(RecordingTest, ADeviceThatIsDescribedAfterItsFirstKernelKeepsItsIdAndGetsItsMeasuredRoofs) {
  RecordWriter thread = m_target.thread(100);
  connect(m_target);
  thread.kernel(thread.text("k"), m_target.startNs(), m_target.startNs() + 1, 1);
  DeviceRecord device{};
  device.name = thread.text("software device (CPU)");
  device.uuid[0] = 0xAB;
  device.kind = DeviceKind::kSoftware;
  device.memory_bytes = 1u << 30;
  thread.write(RecordKind::kDevice, device);
  thread.write(RecordKind::kDevice, device);
  const Database db = finish();
  EXPECT_THAT(db.rows("SELECT d.name, d.kind, d.memory_bytes, d.core_clock_hz, count(k.id) FROM devices d "
                      "JOIN kernel k ON k.device_id = d.id"),
              ElementsAre(Row{"software device (CPU)", "software", "1073741824", "NULL", "1"}));
  EXPECT_THAT(db.rows("SELECT resource, per_second, source FROM device_roof"),
              ElementsAre(Row{"fp32", "1500000000.0", "measured"}));
}

TEST_F(RecordingTest, LibraryCallsCountersPluginsThreadsAndDiagnosticsAreRows) {
  RecordWriter thread = m_target.thread(100);
  const int64_t t = m_target.startNs();
  connect(m_target);
  LibraryCallRecord call{};
  call.start_ns = t + 1;
  call.end_ns = t + 4;
  call.external_id = 8;
  call.name = thread.text("cublasGemmEx");
  call.datatype_a = call.datatype_b = call.datatype_c = thread.text("bf16");
  call.compute_type = call.datatype_a;
  call.flops = 2.0 * 16 * 32 * 64;
  call.bytes = 1e3;
  call.m = 16;
  call.n = 32;
  call.k = 64;
  call.batch = 1;
  thread.write(RecordKind::kLibraryCall, call);
  CounterSampleRecord sample{};
  sample.time_ns = t + 5;
  sample.name = thread.text("loss");
  sample.value = 2.5;
  thread.write(RecordKind::kCounterSample, sample);
  sample.value = std::numeric_limits<double>::quiet_NaN();
  thread.write(RecordKind::kCounterSample, sample);
  PluginRecord plugin{};
  plugin.name = thread.text("cupti");
  plugin.version = thread.text("1");
  plugin.is_on = 1;
  thread.write(RecordKind::kPlugin, plugin);
  plugin.is_on = 0;  // the latest word counts
  thread.write(RecordKind::kPlugin, plugin);
  DiagnosticRecord diagnostic{};
  diagnostic.time_ns = t + 6;
  diagnostic.count = 2;
  diagnostic.lane = plugin.name;
  diagnostic.code = thread.text("lane_off");
  diagnostic.message = thread.text("No driver.");
  diagnostic.severity = Severity::kError;
  thread.write(RecordKind::kDiagnostic, diagnostic);
  ThreadNameRecord name{};
  name.name = thread.text("main");
  thread.write(RecordKind::kThreadName, name);
  const Database db = finish();
  EXPECT_THAT(db.rows("SELECT n.text, m, n, k, flops, c.text, external_id FROM library_call l "
                      "JOIN string n ON n.id = l.name_id JOIN string c ON c.id = l.compute_type_id"),
              ElementsAre(Row{"cublasGemmEx", "16", "32", "64", "65536.0", "bf16", "8"}));
  EXPECT_THAT(db.rows("SELECT start_ns, value FROM counter_sample"), ElementsAre(Row{"5", "2.5"}));
  EXPECT_THAT(db.rows("SELECT name, version, library, state FROM plugin"),
              ElementsAre(Row{"cupti", "1", "NULL", "off"}));
  EXPECT_THAT(db.rows("SELECT severity, lane, name, count, message FROM diagnostics ORDER BY id"),
              ElementsAre(Row{"error", "cupti", "lane_off", "2", "No driver."},
                          Row{"warning", "recorder", "not_a_number", "1",
                              "Values that were not numbers (NaN or infinite) and could not be stored as such: 1."}));
  EXPECT_THAT(db.rows("SELECT tid, s.text FROM thread t JOIN string s ON s.id = t.name_id"),
              ElementsAre(Row{"100", "main"}));
  EXPECT_THAT(db.rows("SELECT n.text, v.text FROM process_variable p JOIN string n ON n.id = p.name_id "
                      "JOIN string v ON v.id = p.value_id"),
              ElementsAre(Row{"RANK", "0"}));
}

TEST_F(RecordingTest, NamesWithBadBytesAreReadableText) {
  RecordWriter thread = m_target.thread(100);
  connect(m_target);
  thread.push(thread.text("\xC3\xBC \xFF"), m_target.startNs());
  thread.pop(m_target.startNs() + 1);
  EXPECT_THAT(finish().rows("SELECT name FROM ranges"), ElementsAre(Row{"\xC3\xBC ?"}));
}

TEST_F(RecordingTest, TwoProcessesShareOneFileAndOneTableOfTexts) {
  FakeTarget second(4712, 1);
  for (auto [target, id] : {std::pair(&m_target, 1), std::pair(&second, 2)}) {
    connect(*target, id);
    RecordWriter thread = target->thread(100);
    thread.kernel(thread.text("gemm"), m_target.startNs() + 10, m_target.startNs() + 20, 1);
  }
  m_recording->drain();
  m_recording->noteGoodbye(2);
  m_recording->remove(2);
  const Database db = finish();
  EXPECT_THAT(db.rows("SELECT rank, name FROM kernels ORDER BY rank"), ElementsAre(Row{"0", "gemm"}, Row{"1", "gemm"}));
  EXPECT_EQ(db.number("SELECT count(*) FROM string WHERE text = 'gemm'"), 1);
  EXPECT_THAT(db.rows("SELECT rank, pid, world_size, ended, host FROM processes ORDER BY rank"),
              ElementsAre(Row{"0", "4711", "2", "exit", "node1"}, Row{"1", "4712", "2", "exit", "node1"}));
}

TEST_F(RecordingTest, AProcessWithoutAGoodbyeIsNamedAndKeepsEverythingItPublished) {
  RecordWriter thread = m_target.thread(100);
  connect(m_target);
  const StringId name = thread.text("k");
  for (uint32_t i = 0; i < 1000; ++i) thread.kernel(name, m_target.startNs() + i, m_target.startNs() + i + 1, i);
  const Database db = finish(false);
  EXPECT_EQ(db.number("SELECT count(*) FROM kernels"), 1000);
  EXPECT_EQ(db.text("SELECT ended FROM processes"), "lost");
  EXPECT_THAT(db.text("SELECT message FROM diagnostics"),
              testing::StartsWith("rank 0 (pid 4711) ended without saying"));
}

TEST_F(RecordingTest, RecordsThatFoundNoRoomAreADiagnosticOfTheirProcess) {
  RecordWriter thread = m_target.thread(100);
  connect(m_target);
  const StringId name = thread.text("k");
  int lost = 0;
  for (uint32_t i = 0; i < 30'000; ++i) {
    ApiCallRecord record{};
    record.name = name;
    if (!thread.write(RecordKind::kApiCall, record)) ++lost;
  }
  const Database db = finish();
  ASSERT_GT(lost, 0);
  EXPECT_EQ(db.number("SELECT count(*) FROM api_calls"), 30'000 - lost);
  EXPECT_THAT(db.rows("SELECT severity, count FROM diagnostics WHERE name = 'ring_full'"),
              ElementsAre(Row{"error", std::to_string(lost)}));
}

TEST_F(RecordingTest, AFinishedFileIsOneFileWithIndexesAndItsFacts) {
  connect(m_target);
  const Database db = finish();
  EXPECT_EQ(db.text("SELECT value FROM meta WHERE key = 'complete'"), "1");
  EXPECT_EQ(db.text("SELECT value FROM meta WHERE key = 'command'"), "train");
  EXPECT_EQ(db.number("PRAGMA application_id"), 0x504C4D42);
  EXPECT_EQ(db.text("PRAGMA journal_mode"), "delete");
  EXPECT_GT(db.number("SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = 'kernel_correlation'"), 0);
  EXPECT_FALSE(std::filesystem::exists(path() + "-wal"));
}

TEST_F(RecordingTest, AFileCanBeReadWhileItGrows) {
  RecordWriter thread = m_target.thread(100);
  connect(m_target);
  thread.kernel(thread.text("k"), m_target.startNs(), m_target.startNs() + 5, 1);
  m_recording->drain();
  ::usleep(300'000);
  m_recording->drain();  // a batch is committed when it is a quarter of a second old
  const Database live(path());
  EXPECT_EQ(live.number("SELECT count(*) FROM kernels"), 1);
  EXPECT_EQ(live.text("SELECT value FROM meta WHERE key = 'complete'"), "0");
}

TEST_F(RecordingTest, NobodyElseCanWriteIntoTheFileWhileItGrows) {
  RecordWriter thread = m_target.thread(100);
  connect(m_target);
  const StringId name = thread.text("k");
  for (uint32_t i = 0; i < 3; ++i) {
    thread.kernel(name, m_target.startNs(), m_target.startNs() + 5, i);
    m_recording->drain();
    ::usleep(300'000);
    m_recording->drain();
    auto intruder = schema::Database::open(path());
    ASSERT_TRUE(intruder.ok());
    EXPECT_FALSE(intruder.value().execute("PRAGMA busy_timeout=1; DELETE FROM kernel").ok());
  }
  EXPECT_EQ(finish().number("SELECT count(*) FROM kernels"), 3);
}

}  // namespace
}  // namespace plumb::recorder
