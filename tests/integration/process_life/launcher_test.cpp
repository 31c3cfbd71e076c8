// SPDX-License-Identifier: Apache-2.0
// plumb record: the command runs as ever, its exit is ours, and errors leave nothing behind.
#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>

#include "tests/integration/process_life/life.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Record : public Life {
 protected:
  [[nodiscard]] Command record(std::vector<std::string> words) const {
    std::vector<std::string> arguments = {kLauncher, "record"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    return plain(arguments);
  }
  // Nothing is left in the folder: no file, no session.
  void expectNothingLeft() const { EXPECT_TRUE(std::filesystem::is_empty(m_folder.path())); }
};

TEST_F(Record, GivesTheCommandsExitCodeAndOutput) {
  const Outcome outcome = run(record({"-o", "run.sqlite", kProgram, "return"}));
  EXPECT_EQ(outcome.exitCode, 7);
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors, testing::MatchesRegex("plumb: [0-9]+ events? of 1 process in .*/run\\.sqlite\n"));
  EXPECT_EQ(Database(file("run.sqlite")).text("SELECT name FROM ranges"), "only");
}

TEST_F(Record, LeavesTheCommandsArgumentsAlone) {
  const Outcome outcome =
      run(record({"--quiet", "-o", "run.sqlite", "--", "sh", "-c", "echo \"$@\"", "x", "-o", "--", "--force"}));
  EXPECT_EQ(outcome.output, "-o -- --force\n");
  EXPECT_EQ(outcome.errors, "");
}

TEST_F(Record, DiesByTheSignalThatKilledTheCommand) {
  EXPECT_EQ(run(record({"-o", "a.sqlite", kProgram, "kill"})).signal, SIGKILL);
  EXPECT_EQ(run(record({"-o", "b.sqlite", kProgram, "abort"})).signal, SIGABRT);
  EXPECT_EQ(Database(file("a.sqlite")).text("SELECT name FROM ranges"), "last");
}

TEST_F(Record, PassesSignalsOnAndCompletesTheFile) {
  Process launcher(record(
      {"-o", "run.sqlite", "bash", "-c",
       "trap 'echo caught; exit 42' TERM; '" + kProgram + "' return; echo ready; while :; do sleep 0.05; done"}));
  for (int i = 0; i < 500 && launcher.outputSoFar().find("ready") == std::string::npos; ++i) {
    usleep(10'000);
  }
  kill(launcher.pid(), SIGTERM);
  const Outcome outcome = launcher.wait();
  EXPECT_EQ(outcome.exitCode, 42);
  EXPECT_EQ(outcome.output, "ready\ncaught\n");
  EXPECT_THAT(outcome.errors, HasSubstr("run.sqlite"));
}

TEST_F(Record, SaysThatTheLogBelongsToTheFileWhenAReaderHoldsIt) {
  const std::string log = file("run.sqlite-wal");
  Process launcher(
      record({"-o", "run.sqlite", "bash", "-c", "'" + kProgram + "' return; echo ready; sleep 2; exit 5"}));
  for (int i = 0; i < 500 && launcher.outputSoFar().find("ready") == std::string::npos; ++i) {
    usleep(10'000);
  }
  {
    const Database reader(file("run.sqlite"));
    reader.rows("BEGIN");
    reader.rows("SELECT * FROM meta");
    const Outcome outcome = launcher.wait();
    EXPECT_EQ(outcome.exitCode, 5);
    EXPECT_THAT(outcome.errors, HasSubstr("run.sqlite-wal belongs to the file until `plumb index "));
    EXPECT_THAT(outcome.errors, HasSubstr("of 1 process in"));
    EXPECT_GT(std::filesystem::file_size(log), 0u);
  }
  const Command index = plain({PLUMB_BUILD_DIR "/bin/plumb-recorder", "--finish", file("run.sqlite")});
  const Outcome folded = run(index);
  EXPECT_EQ(folded.exitCode, 0) << folded.errors;
  EXPECT_THAT(folded.output, HasSubstr("is complete; its write-ahead log " + log + " has been folded in."));
  EXPECT_FALSE(std::filesystem::exists(log));
  EXPECT_EQ(Database(file("run.sqlite")).text("SELECT name FROM ranges"), "only");
  EXPECT_THAT(run(index).output, HasSubstr("is complete; nothing to do."));
}

// bash counts the signals that it gets; who signals a whole process group has reached it already.
TEST_F(Record, ASignalToTheWholeProcessGroupReachesTheCommandOnce) {
  Process launcher(record({"-o", "run.sqlite", "bash", "-c",
                           "n=0; trap 'n=$((n + 1))' USR1; '" + kProgram +
                               "' return; echo ready; for i in $(seq 20); do sleep 0.05; done; echo signals $n"}));
  for (int i = 0; i < 500 && launcher.outputSoFar().find("ready") == std::string::npos; ++i) {
    usleep(10'000);
  }
  kill(-launcher.pid(), SIGUSR1);
  const Outcome outcome = launcher.wait();
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.output, HasSubstr("signals 1\n"));
}

TEST_F(Record, EndsAsTheCommandDoesWhenNobodyListensToIt) {
  for (const char* const odd : {"2>/dev/full", "2>&-", "2> >(exec true)", "<&-", ">&-", "<&- >&- 2>&-"}) {
    const std::string line = kLauncher + " record --force -o run.sqlite -- bash -c 'exit 5' " + odd;
    Command command;
    command.arguments = {"bash", "-c", line};
    command.directory = m_folder.path();
    EXPECT_EQ(run(command).exitCode, 5) << odd;
  }
}

TEST_F(Record, SaysWhenThereWasNothingToRecord) {
  const Outcome outcome = run(record({"-o", "run.sqlite", "true"}));
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("nothing was recorded"));
}

TEST_F(Record, SaysWhichPluginsAreOffAndWhy) {
  std::filesystem::create_directory(file("broken"));
  std::filesystem::copy(kPlugins, file("broken"));
  std::ofstream(file("broken/nccl.so")) << "garbage";
  Command command = record({"-o", "run.sqlite", kProgram, "return"});
  command.environment["PLUMB_PLUGIN_DIR"] = file("broken");
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.exitCode, 7);
  EXPECT_THAT(outcome.errors, HasSubstr("plumb: The plugin nccl is off: it cannot be loaded"));

  command = record({"-o", "none.sqlite", kProgram, "return"});
  command.environment["PLUMB_PLUGIN_DIR"] = file("gone");
  EXPECT_THAT(run(command).errors, HasSubstr("plumb: No plugin was loaded, so nothing is recorded"));
}

TEST_F(Record, RefusesACommandThatDoesNotExist) {
  const Outcome outcome = run(record({"-o", "run.sqlite", "no-such-program"}));
  EXPECT_NE(outcome.exitCode, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("Cannot run \"no-such-program\""));
  expectNothingLeft();
}

TEST_F(Record, RefusesOutputsThatCannotBeWritten) {
  for (const std::string& output : {file("none/run.sqlite"), std::string("/proc/run.sqlite"), m_folder.path()}) {
    const Outcome outcome = run(record({"-o", output, "true"}));
    EXPECT_NE(outcome.exitCode, 0) << output;
    EXPECT_THAT(outcome.errors, testing::MatchesRegex("plumb: [^\n]+\n")) << output;
    expectNothingLeft();
  }
}

TEST_F(Record, NeverTouchesAFileThatIsNotARecording) {
  std::ofstream(file("thesis.txt")) << "precious";
  for (const bool force : {false, true}) {
    std::vector<std::string> words = {"-o", "thesis.txt", "true"};
    if (force) {
      words.insert(words.begin(), "--force");
    }
    const Outcome outcome = run(record(words));
    EXPECT_NE(outcome.exitCode, 0);
    EXPECT_THAT(outcome.errors, HasSubstr("is not a Plumbline recording"));
  }
  EXPECT_EQ(std::filesystem::file_size(file("thesis.txt")), 8u);
}

TEST_F(Record, ReplacesARecordingOnlyIfTold) {
  (void)run(record({"-o", "run.sqlite", kProgram, "return"}));
  const Outcome refused = run(record({"-o", "run.sqlite", kProgram, "kill"}));
  EXPECT_NE(refused.exitCode, 0);
  EXPECT_THAT(refused.errors, HasSubstr("--force"));
  EXPECT_EQ(run(record({"--force", "-o", "run.sqlite", kProgram, "kill"})).signal, SIGKILL);
  EXPECT_EQ(Database(file("run.sqlite")).text("SELECT name FROM ranges"), "last");
}

TEST_F(Record, TakesOnlyThePluginsThatItIsTold) {
  (void)run(record({"--plugins", "life", "-o", "with.sqlite", kProgram, "return"}));
  EXPECT_EQ(Database(file("with.sqlite")).number("SELECT count(*) FROM plugin"), 1);
  Command without = record({"-o", "without.sqlite", kProgram, "return"});
  without.environment["PLUMB_PLUGINS"] = "-life";
  (void)run(without);
  EXPECT_EQ(Database(file("without.sqlite")).number("SELECT count(*) FROM plugin"), 0);
}

TEST_F(Record, APluginThatIsNotThereIsRefused) {
  const Outcome outcome = run(record({"--plugins", "life,other", "-o", "run.sqlite", kProgram, "return"}));
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("There is no plugin 'other'"));
  expectNothingLeft();
}

TEST_F(Record, UnknownOptionsAndMissingCommandsAreExplained) {
  EXPECT_THAT(run(record({"--colour", "true"})).errors, HasSubstr("has no option --colour"));
  EXPECT_THAT(run(record({"-o", "run.sqlite"})).errors, HasSubstr("There is no command"));
  expectNothingLeft();
}

TEST_F(Record, SetsTheEnvironmentForTheCommandOnly) {
  const Outcome outcome = run(record({"-o", "run.sqlite", "sh", "-c", "echo $LD_PRELOAD $PLUMB_SESSION_DIR"}));
  EXPECT_THAT(outcome.output, testing::StartsWith(kAgent + " " + m_folder.path() + "/plumb-"));
}

TEST_F(Record, PutsTheRuntimeOfAddressSanitizerFirst) {
  const std::string program = kProgram + "_asan";
  if (!std::filesystem::exists(program)) {
    GTEST_SKIP() << "this compiler has no AddressSanitizer";
  }
  const Outcome outcome = run(record({"-o", "run.sqlite", program, "fork exit"}));
  EXPECT_EQ(outcome.exitCode, 3) << outcome.errors;
  EXPECT_EQ(outcome.output, "child 4\n");
  EXPECT_EQ(Database(file("run.sqlite")).number("SELECT count(*) FROM ranges"), 3);
}

TEST_F(Record, SaysThatAStaticProgramCannotBeRecorded) {
  const std::string program = PLUMB_BUILD_DIR "/tests/process_life/static_program";
  if (!std::filesystem::exists(program)) {
    GTEST_SKIP() << "there is no static C library";
  }
  const Outcome outcome = run(record({"-o", "run.sqlite", program}));
  EXPECT_EQ(outcome.exitCode, 6);
  EXPECT_EQ(outcome.output, "static\n");
  EXPECT_THAT(outcome.errors, HasSubstr("is linked statically"));
}

TEST_F(Life, DoctorExplainsEachLane) {
  const Outcome outcome = run(plain({kLauncher, "doctor"}));
  for (const char* subject : {"agent", "recorder", "NVIDIA driver", "CUPTI", "hardware counters", "software device"}) {
    EXPECT_THAT(outcome.output, HasSubstr(subject));
  }
  EXPECT_THAT(outcome.output, HasSubstr("starts and writes"));
  EXPECT_THAT(recordings(), IsEmpty());
}

}  // namespace
}  // namespace plumb::test
