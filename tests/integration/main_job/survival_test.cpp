// SPDX-License-Identifier: Apache-2.0
// What a recording is worth when things go wrong: a killed rank, no driver, bad arguments.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/integration/main_job/recordings.h"
#include "tests/support/database.h"

namespace plumb::test {
namespace {

bool hasEnvironment(pid_t pid, const std::string& entry) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string variable; std::getline(in, variable, '\0');) {
    if (variable == entry) return true;
  }
  return false;
}

// Starts command, lets it train a few steps, kills rank 1 and waits for the end.
Outcome runAndKillRankOne(const Command& command) {
  Process process(command);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (process.outputSoFar().find("step 60 ") == std::string::npos && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (pid_t pid : descendants(process.pid())) {
    if (hasEnvironment(pid, "RANK=1")) kill(pid, SIGKILL);
  }
  return process.wait();
}

TEST(Survival, AKilledRankLosesNothingItHadPublished) {
  TemporaryFolder folder;
  const std::string file = folder.file("killed.sqlite");
  Training training;
  training.steps = 100000;
  const auto command = training.arguments();
  Command plain;
  plain.arguments = command;
  const Outcome without = runAndKillRankOne(plain);
  const Outcome with = runAndKillRankOne(recordCommand(file, command));

  EXPECT_FALSE(without.timedOut);
  EXPECT_FALSE(with.timedOut) << with.errors;
  EXPECT_NE(without.exitCode, 0);
  EXPECT_EQ(with.exitCode, without.exitCode) << with.errors;
  EXPECT_EQ(with.signal, without.signal);

  Database trace(file);
  EXPECT_EQ(trace.text("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(trace.text("SELECT ended FROM processes WHERE rank = 1"), "lost");
  EXPECT_EQ(trace.number("SELECT count(*) FROM diagnostics WHERE name = 'process_lost' AND rank = 1"), 1);
  // Rank 0 had printed the end of step 60, so rank 1 had ended steps 0 to 59, and said so. Kernels are published when
  // CUPTI is flushed, ten times a second.
  EXPECT_GE(trace.number("SELECT count(*) FROM steps WHERE rank = 1 AND duration_ns IS NOT NULL"), 60);
  // The range in which it died is there, open.
  EXPECT_GE(trace.number("SELECT count(*) FROM ranges WHERE rank = 1 AND duration_ns IS NULL"), 1);
  EXPECT_GT(trace.number("SELECT count(*) FROM kernels WHERE rank = 1"), 100);
  EXPECT_GE(trace.number("SELECT count(*) FROM steps WHERE rank = 0"), 3);
  EXPECT_EQ(run({{kPlumb, "summary", file}, {}, {}, std::chrono::seconds(60)}).exitCode, 0);
}

TEST(Survival, WithoutADriverTheHostLanesAreThereAndTheFileSaysWhyTheGpuLaneIsNot) {
  const std::string program = PLUMB_BUILD_DIR "/tests/no_driver_program";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "NVIDIA's libcudart was not there at build time";
  TemporaryFolder folder;
  Command plain;
  plain.arguments = {program};
  const Outcome without = run(plain);
  if (without.output.find("devices: 0") == std::string::npos) GTEST_SKIP() << "this machine has a driver";
  for (const bool preload : {false, true}) {
    const std::string file = folder.file(preload ? "preload.sqlite" : "record.sqlite");
    const Outcome with = run(preload ? preloadCommand(file, {program}) : recordCommand(file, {program}));
    EXPECT_EQ(with.exitCode, without.exitCode);
    EXPECT_EQ(with.output, without.output);
    ASSERT_TRUE(waitUntilComplete(file));
    Database trace(file);
    EXPECT_EQ(trace.number("SELECT count(*) FROM ranges WHERE name = 'host work'"), 3);
    EXPECT_EQ(trace.number("SELECT count(*) FROM kernels"), 0);
    EXPECT_EQ(trace.number("SELECT count(*) FROM plugin WHERE name = 'cupti' AND state = 'off'"), 1);
    const std::string why = trace.text("SELECT message FROM diagnostics WHERE lane = 'cupti' AND name = 'lane_off'");
    EXPECT_NE(why.find("driver"), std::string::npos) << why;
    const Outcome summary = run({{kPlumb, "summary", file}, {}, {}, std::chrono::seconds(60)});
    EXPECT_EQ(summary.exitCode, 0);
    EXPECT_NE(summary.output.find("driver"), std::string::npos) << summary.output;
  }
}

TEST(Survival, WithoutADriverAndWithoutMarksTheFileStillSaysWhyItIsEmpty) {
  const std::vector<std::string> program = {PLUMB_BUILD_DIR "/tests/no_driver_program", "silent"};
  if (!std::filesystem::exists(program.front())) GTEST_SKIP() << "NVIDIA's libcudart was not there at build time";
  TemporaryFolder folder;
  Command plain;
  plain.arguments = program;
  const Outcome without = run(plain);
  if (without.output.find("devices: 0") == std::string::npos) GTEST_SKIP() << "this machine has a driver";
  for (const bool preload : {false, true}) {
    const std::string file = folder.file(preload ? "preload.sqlite" : "record.sqlite");
    const Outcome with = run(preload ? preloadCommand(file, program) : recordCommand(file, program));
    EXPECT_EQ(with.exitCode, without.exitCode);
    EXPECT_EQ(with.output, without.output);
    ASSERT_TRUE(waitUntilComplete(file));
    Database trace(file);
    EXPECT_EQ(trace.text("SELECT ended FROM processes"), "exit");
    EXPECT_EQ(trace.number("SELECT count(*) FROM plugin WHERE name = 'cupti' AND state = 'off'"), 1);
    const std::string why = trace.text("SELECT message FROM diagnostics WHERE lane = 'cupti' AND name = 'lane_off'");
    EXPECT_NE(why.find("no NVIDIA driver is usable"), std::string::npos) << why;
  }
}

TEST(Survival, ForkedWorkersAreRecordedAsProcessesOfTheirOwn) {
  TemporaryFolder folder;
  const std::string file = folder.file("fork.sqlite");
  EXPECT_EQ(run(recordCommand(file, {PLUMB_BUILD_DIR "/tests/fork_program"})).exitCode, 0);
  Database trace(file);
  EXPECT_EQ(trace.number("SELECT count(*) FROM processes"), 4);
  EXPECT_EQ(trace.number("SELECT count(*) FROM ranges WHERE name = 'worker' AND duration_ns IS NOT NULL AND depth = 0"),
            6);
  EXPECT_EQ(trace.number("SELECT count(*) FROM ranges WHERE name = 'parent'"), 1);
}

struct BadCall {
  const char* description;
  std::vector<std::string> arguments;
  const char* sentence;  // a part of what must be said
};

TEST(BadInput, IsOneSentenceANonZeroExitAndNothingHalfMade) {
  TemporaryFolder folder;
  const std::string text = folder.file("text.sqlite");
  std::ofstream(text) << "this is not a database, it is a text that is long enough to look like something\n";
  const std::string empty = folder.file("empty.sqlite");
  std::ofstream(empty).flush();
  const std::string out = folder.file("out.sqlite");
  const std::vector<BadCall> calls = {
      {"a command that does not exist",
       {kPlumb, "record", "-o", out, "--", "no-such-command-here"},
       "no-such-command-here"},
      {"an output folder that does not exist",
       {kPlumb, "record", "-o", "/no/such/folder/x.sqlite", "--", "true"},
       "/no/such/folder"},
      {"a plugin that is not installed",
       {kPlumb, "record", "--plugins", "nvtx,nosuch", "-o", out, "--", "true"},
       "nosuch"},
      {"no command", {kPlumb, "record", "-o", out}, "command"},
      {"a text file", {kPlumb, "summary", text}, "not a Plumbline"},
      {"an empty file", {kPlumb, "summary", empty}, "empty"},
      {"a missing file", {kPlumb, "summary", folder.file("missing.sqlite")}, "missing.sqlite"},
      {"a folder", {kPlumb, "summary", folder.path()}, "folder"},
      {"an unknown report", {kPlumb, "report", "nonsense", text}, "nonsense"},
      {"the window on a text file",
       {kBin + "/plumb-gui", "--render", "timeline", "-o", folder.file("x.png"), text},
       "not a Plumbline"},
  };
  for (const BadCall& call : calls) {
    const Outcome outcome = run({call.arguments, {}, folder.path(), std::chrono::seconds(30)});
    EXPECT_GT(outcome.exitCode, 0) << call.description;
    EXPECT_NE(outcome.errors.find(call.sentence), std::string::npos) << call.description << ": " << outcome.errors;
    EXPECT_LE(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 2)
        << call.description << ": " << outcome.errors;
  }
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) left.push_back(entry.path().filename());
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{"empty.sqlite", "text.sqlite"}));
}

TEST(BadInput, AMissingPluginIsADiagnosticAndTheRestIsRecorded) {
  TemporaryFolder folder;
  namespace fs = std::filesystem;
  fs::create_directories(folder.file("lib/plumb/plugins"));
  fs::copy_file(kAgent, folder.file("lib/libplumb.so"));
  fs::create_directories(folder.file("bin"));
  fs::copy_file(kBin + "/plumb-recorder", folder.file("bin/plumb-recorder"));
  for (const char* plugin : {"cupti", "nvtx", "memory", "cublas"}) {
    fs::copy_file(PLUMB_BUILD_DIR "/lib/plumb/plugins/" + std::string(plugin) + ".so",
                  folder.file("lib/plumb/plugins/" + std::string(plugin) + ".so"));
  }
  Training training;
  training.steps = 2;
  Command command = preloadCommand(folder.file("out.sqlite"), training.arguments());
  command.environment["LD_PRELOAD"] = folder.file("lib/libplumb.so");
  EXPECT_EQ(run(command).exitCode, 0);
  ASSERT_TRUE(waitUntilComplete(folder.file("out.sqlite")));
  Database trace(folder.file("out.sqlite"));
  EXPECT_GT(trace.number("SELECT count(*) FROM kernels"), 0);
  EXPECT_EQ(trace.number("SELECT count(*) FROM collectives"), 0);
  EXPECT_EQ(
      trace.number("SELECT count(DISTINCT rank) FROM diagnostics WHERE lane = 'nccl' AND message LIKE '%missing%'"),
      training.ranks);
}

}  // namespace
}  // namespace plumb::test
