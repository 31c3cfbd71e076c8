// SPDX-License-Identifier: Apache-2.0
// plumb-recorder as a program: its ends, its refusals, its death.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/support/database.h"
#include "tests/support/process.h"
#include "tests/support/record_writer.h"

namespace plumb::test {
namespace {

namespace fs = std::filesystem;

const std::string kRecorder = PLUMB_BUILD_DIR "/bin/plumb-recorder";

Command commandOf(std::vector<std::string> arguments) {
  Command command;
  command.arguments = std::move(arguments);
  return command;
}

// A number from a file that is being recorded; 0 while it has no tables yet.
int64_t numberSoFar(const std::string& path, const std::string& sql) {
  try {
    return Database(path).number(sql);
  } catch (const std::runtime_error&) {
    return 0;
  }
}

class RecorderProgram : public testing::Test {
 protected:
  RecorderProgram() { fs::create_directory(session()); }

  [[nodiscard]] std::string session() const { return m_folder.file("session"); }
  [[nodiscard]] std::string output() const { return m_folder.file("run.sqlite"); }
  [[nodiscard]] Command command(std::vector<std::string> more = {}) const {
    Command result = commandOf({kRecorder, "--session", session(), "--output", output(), "--foreground"});
    result.arguments.insert(result.arguments.end(), more.begin(), more.end());
    return result;
  }

  // The launcher's side of the socket.
  [[nodiscard]] int connectControl() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, (session() + "/" + transport::kSocketName).c_str(), sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    for (int i = 0; i < 1000; ++i) {
      if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) break;
      ::usleep(10'000);
    }
    send(fd, transport::MessageType::kControl, transport::ControlMessage{});
    return fd;
  }
  template <class Fixed>
  static void send(int fd, transport::MessageType type, Fixed fixed) {
    std::array<std::byte, 256> buffer{};
    transport::MessageWriter writer(buffer);
    writer.begin(type, fixed);
    ASSERT_TRUE(transport::sendPacket(fd, writer.finish()));
  }
  static std::vector<std::byte> receive(int fd) {
    std::vector<std::byte> buffer(transport::kMaxMessageBytes);
    const auto packet = transport::receivePacket(fd, buffer);
    return {packet.bytes.begin(), packet.bytes.end()};
  }

  static void publish(FakeTarget& target, uint32_t kernels) {
    RecordWriter thread = target.thread(1);
    const StringId name = thread.text("gemm");
    for (uint32_t i = 0; i < kernels; ++i) thread.kernel(name, target.startNs() + i, target.startNs() + i + 1, i);
  }

  TemporaryFolder m_folder;
};

TEST_F(RecorderProgram, UnderALauncherItRecordsAllProcessesSaysSoAndTidiesUp) {
  Process recorder(command({"--command", "torchrun train.py"}));
  const int control = connectControl();
  const auto ready = transport::readText(receive(control));
  ASSERT_TRUE(ready.ok());
  EXPECT_EQ(ready.value().type, transport::MessageType::kReady);
  EXPECT_EQ(ready.value().text, output());
  {
    FakeTarget first(1001, 0);
    FakeTarget second(1002, 1);
    ASSERT_TRUE(first.connect(session()) && second.connect(session()));
    publish(first, 500);
    publish(second, 700);
    first.sayGoodbye();
  }
  send(control, transport::MessageType::kFinish, transport::MessageHeader{});
  const auto summary = transport::readSummary(receive(control));
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary.value().fixed.event_count, 1200u);
  EXPECT_EQ(summary.value().fixed.process_count, 2u);
  EXPECT_EQ(summary.value().fixed.diagnostic_count, 1u);
  const Outcome outcome = recorder.wait();
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_FALSE(fs::exists(session()));
  const Database db(output());
  EXPECT_THAT(db.rows("SELECT rank, count(*) FROM kernels GROUP BY rank ORDER BY rank"),
              testing::ElementsAre(Database::Row{"0", "500"}, Database::Row{"1", "700"}));
  EXPECT_THAT(db.rows("SELECT rank, ended FROM processes ORDER BY rank"),
              testing::ElementsAre(Database::Row{"0", "exit"}, Database::Row{"1", "lost"}));
  EXPECT_EQ(db.text("SELECT value FROM meta WHERE key = 'command'"), "torchrun train.py");
  EXPECT_EQ(db.text("PRAGMA integrity_check"), "ok");
  ::close(control);
}

TEST_F(RecorderProgram, AloneItEndsWithItsRootProcess) {
  const pid_t root = ::fork();
  if (root == 0) {
    ::sleep(60);
    ::_exit(0);
  }
  Process recorder(command({"--root-pid", std::to_string(root)}));
  {
    FakeTarget target(1001, 0);
    ASSERT_TRUE(target.connect(session()));
    publish(target, 10);
    target.sayGoodbye();
  }
  ::usleep(100'000);
  ::kill(root, SIGKILL);
  ::waitpid(root, nullptr, 0);
  EXPECT_EQ(recorder.wait().exitCode, 0);
  EXPECT_EQ(Database(output()).number("SELECT count(*) FROM kernels"), 10);
}

TEST_F(RecorderProgram, SigtermFinishesTheFileWhileTheTargetRuns) {
  Process recorder(command());
  FakeTarget target(1001, 0);
  ASSERT_TRUE(target.connect(session()));
  publish(target, 10);
  ::kill(recorder.pid(), SIGTERM);
  EXPECT_EQ(recorder.wait().exitCode, 0);
  const Database db(output());
  EXPECT_EQ(db.number("SELECT count(*) FROM kernels"), 10);
  EXPECT_EQ(db.text("SELECT value FROM meta WHERE key = 'complete'"), "1");
  EXPECT_EQ(db.text("SELECT name FROM diagnostics"), "still_running");
  EXPECT_EQ(db.text("SELECT ended FROM processes"), "NULL");
}

TEST_F(RecorderProgram, ATargetThatIsKilledLosesNothingThatItPublished) {
  Process recorder(command());
  const pid_t child = ::fork();
  if (child == 0) {
    FakeTarget target(1001, 3);
    if (target.connect(session())) publish(target, 5000);
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  for (int i = 0; i < 100; ++i) {  // the death is noticed and stored without anybody asking
    ::usleep(50'000);
    if (numberSoFar(output(), "SELECT count(ended) FROM process") == 1) break;
  }
  ::kill(recorder.pid(), SIGTERM);
  EXPECT_EQ(recorder.wait().exitCode, 0);
  const Database db(output());
  EXPECT_EQ(db.number("SELECT count(*) FROM kernels WHERE rank = 3"), 5000);
  EXPECT_EQ(db.text("SELECT ended FROM processes"), "lost");
  EXPECT_THAT(db.text("SELECT message FROM diagnostics"), testing::HasSubstr("rank 3 (pid 1001)"));
}

TEST_F(RecorderProgram, AReaderSeesTheFileGrowAndHindersNobody) {
  Process recorder(command());
  FakeTarget target(1001, 0);
  ASSERT_TRUE(target.connect(session()));
  RecordWriter thread = target.thread(1);
  const StringId name = thread.text("gemm");
  uint32_t written = 0;
  int64_t seen = 0;
  int growths = 0;
  for (int round = 0; round < 400 && growths < 3; ++round) {
    for (int i = 0; i < 200; ++i, ++written) {
      thread.kernel(name, target.startNs() + written, target.startNs() + written + 1, written);
    }
    ::usleep(10'000);
    const int64_t now = numberSoFar(output(), "SELECT count(*) FROM kernel");
    EXPECT_GE(now, seen);
    if (now > seen) ++growths;
    seen = now;
  }
  EXPECT_EQ(growths, 3);
  const Database open(output());  // a reader that stays
  EXPECT_GE(open.number("SELECT count(*) FROM kernels"), seen);
  target.sayGoodbye();
  target.disconnect();
  ::usleep(200'000);
  ::kill(recorder.pid(), SIGTERM);
  EXPECT_EQ(recorder.wait().exitCode, 0);
  EXPECT_EQ(Database(output()).number("SELECT count(*) FROM kernels"), written);
  EXPECT_EQ(Database(output()).number("SELECT count(*) FROM diagnostics"), 0);
}

TEST_F(RecorderProgram, AReaderThatEndsSoonIsWaitedFor) {
  Process recorder(command());
  FakeTarget target(1001, 0);
  ASSERT_TRUE(target.connect(session()));
  publish(target, 1000);
  for (int i = 0; i < 100 && numberSoFar(output(), "SELECT count(*) FROM kernel") != 1000; ++i) ::usleep(50'000);
  {
    const Database reader(output());
    reader.rows("BEGIN");
    EXPECT_EQ(reader.number("SELECT count(*) FROM kernel"), 1000);
    target.sayGoodbye();
    target.disconnect();
    ::kill(recorder.pid(), SIGTERM);
    ::usleep(3'500'000);  // longer than it waits for a lock otherwise
  }
  EXPECT_EQ(recorder.wait().exitCode, 0);
  EXPECT_FALSE(fs::exists(output() + "-wal"));
  const Database db(output());
  EXPECT_EQ(db.text("PRAGMA journal_mode"), "delete");
  EXPECT_EQ(db.text("SELECT value FROM meta WHERE key = 'complete'"), "1");
}

TEST_F(RecorderProgram, KilledItLeavesAFileThatOpensAndCanBeCompleted) {
  {
    Process recorder(command());
    FakeTarget target(1001, 0);
    ASSERT_TRUE(target.connect(session()));
    publish(target, 1000);
    for (int i = 0; i < 100; ++i) {  // until the first batch is committed
      ::usleep(50'000);
      if (numberSoFar(output(), "SELECT count(*) FROM kernel") == 1000) break;
    }
    ::kill(recorder.pid(), SIGKILL);
    EXPECT_EQ(recorder.wait().signal, SIGKILL);
  }
  EXPECT_EQ(Database(output()).number("SELECT count(*) FROM kernels"), 1000);
  const Outcome completed = run(commandOf({kRecorder, "--finish", output()}));
  EXPECT_EQ(completed.exitCode, 0) << completed.errors;
  EXPECT_FALSE(fs::exists(output() + "-wal"));
  const Database db(output());
  EXPECT_EQ(db.number("SELECT count(*) FROM kernels"), 1000);
  EXPECT_EQ(db.text("SELECT value FROM meta WHERE key = 'complete'"), "0");
  EXPECT_EQ(db.number("SELECT count(*) FROM diagnostics WHERE name = 'interrupted'"), 1);
  EXPECT_EQ(db.text("PRAGMA integrity_check"), "ok");
  EXPECT_THAT(run(commandOf({kRecorder, "--finish", output()})).output, testing::HasSubstr("finished before"));
}

TEST_F(RecorderProgram, FinishRefusesAFileThatIsBeingRecordedAndOneThatIsNoTrace) {
  Process recorder(command());
  FakeTarget target(1001, 0);
  ASSERT_TRUE(target.connect(session()));
  ::usleep(200'000);
  const Outcome busy = run(commandOf({kRecorder, "--finish", output()}));
  EXPECT_EQ(busy.exitCode, 2);
  EXPECT_THAT(busy.errors, testing::HasSubstr("still being recorded"));
  ::kill(recorder.pid(), SIGTERM);
  EXPECT_EQ(recorder.wait().exitCode, 0);

  std::ofstream(m_folder.file("notes.txt")) << "hello";
  const Outcome text = run(commandOf({kRecorder, "--finish", m_folder.file("notes.txt")}));
  EXPECT_EQ(text.exitCode, 2);
  EXPECT_THAT(text.errors, testing::HasSubstr("is not a Plumbline trace"));
}

TEST_F(RecorderProgram, AnExistingFileIsNeverTouched) {
  std::ofstream(output()) << "precious";
  Process recorder(command());
  const int control = connectControl();
  const auto refused = transport::readText(receive(control));
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused.value().type, transport::MessageType::kRefused);
  EXPECT_THAT(refused.value().text, testing::HasSubstr("exists already"));
  const Outcome outcome = recorder.wait();
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_THAT(outcome.errors, testing::HasSubstr("exists already"));
  std::string content;
  std::getline(std::ifstream(output()) >> std::ws, content);
  EXPECT_EQ(content, "precious");
  ::close(control);
}

TEST_F(RecorderProgram, AloneItTakesTheNextFreeName) {
  std::ofstream(output()) << "precious";
  Process recorder(command({"--root-pid", "999999999"}));
  {
    FakeTarget target(1001, 0);
    ASSERT_TRUE(target.connect(session()));
    target.sayGoodbye();
  }
  EXPECT_EQ(recorder.wait().exitCode, 0);
  EXPECT_EQ(Database(m_folder.file("run-2.sqlite")).number("SELECT count(*) FROM process"), 1);
}

TEST_F(RecorderProgram, APlaceThatDoesNotExistIsRefusedInOneSentence) {
  Command bad = command();
  bad.arguments[4] = m_folder.file("no/such/folder/run.sqlite");
  Process recorder(bad);
  ::close(connectControl());
  const Outcome outcome = recorder.wait();
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_THAT(outcome.errors, testing::HasSubstr("No such file or directory"));
  EXPECT_FALSE(fs::exists(m_folder.file("no")));
}

TEST_F(RecorderProgram, DetachedItReturnsAtOnceAndHoldsNoPipe) {
  Command detached = command({"--root-pid", "999999999"});
  std::erase(detached.arguments, "--foreground");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run(detached).exitCode, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  for (int i = 0; i < 200 && fs::exists(session()); ++i) ::usleep(50'000);
  EXPECT_FALSE(fs::exists(session()));
  EXPECT_EQ(Database(output()).text("SELECT name FROM diagnostics"), "nothing_recorded");
}

TEST_F(RecorderProgram, AFullDiskIsSaidAndCostsTheTargetNothing) {
  // A limit on the file's size is to SQLite what a full disk is.
  Command limited = commandOf({"sh", "-c", "trap '' XFSZ; ulimit -f 4096; exec \"$@\"", "sh"});
  const Command plain = command();
  limited.arguments.insert(limited.arguments.end(), plain.arguments.begin(), plain.arguments.end());
  Process recorder(limited);
  const int control = connectControl();
  (void)receive(control);
  FakeTarget target(1001, 0);
  ASSERT_TRUE(target.connect(session()));
  RecordWriter thread = target.thread(1);
  const StringId name = thread.text("gemm");
  uint64_t full = 0;
  for (uint32_t i = 0; i < 100'000; ++i) {
    KernelRecord record{};
    record.start_ns = record.end_ns = target.startNs();
    record.name = name;
    if (!thread.write(RecordKind::kKernel, record)) {
      ++full;
      ::usleep(1000);
    }
  }
  target.sayGoodbye();
  target.disconnect();
  send(control, transport::MessageType::kFinish, transport::MessageHeader{});
  const Outcome outcome = recorder.wait();
  EXPECT_EQ(outcome.exitCode, 3);
  EXPECT_THAT(outcome.errors, testing::HasSubstr("could not be written to the end"));
  EXPECT_EQ(Database(output()).text("SELECT value FROM meta WHERE key = 'complete'"), "0");
  ::close(control);
}

}  // namespace
}  // namespace plumb::test
