// SPDX-License-Identifier: Apache-2.0
// The program as a user starts it: several ranks, as torchrun starts them, with a rank killed, with wrong arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "tests/support/process.h"

namespace plumb::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

const std::string kFsdp = PLUMB_BUILD_DIR "/bin/workloads/fsdp";

Command fsdp(std::vector<std::string> arguments) {
  Command command;
  command.arguments = {kFsdp, "--device", "software", "--layers", "2", "--dim", "64", "--seq", "32", "--vocab", "256"};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

std::vector<double> lossesIn(const std::string& output) {
  std::vector<double> losses;
  const std::regex line("step +[0-9]+ +loss ([0-9.]+)");
  for (std::sregex_iterator it(output.begin(), output.end(), line), end; it != end; ++it)
    losses.push_back(std::stod((*it)[1]));
  return losses;
}

TEST(FsdpProgram, OneTwoAndFourRanksTrainAlike) {
  std::vector<std::vector<double>> runs;
  for (const char* ranks : {"1", "2", "4"}) {
    const Outcome outcome = run(fsdp({"--ranks", ranks, "--steps", "6"}));
    ASSERT_EQ(outcome.exitCode, 0) << outcome.errors;
    runs.push_back(lossesIn(outcome.output));
    ASSERT_EQ(runs.back().size(), 6u) << outcome.output;
    EXPECT_LT(runs.back().back(), runs.back().front() - 0.5);
  }
  for (const auto& losses : runs)
    for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], runs[0][i], 0.01 * runs[0][i]);
}

// In fp32, where only the order of sums differs.
TEST(FsdpProgram, EveryDistributionTrainsAlike) {
  const std::vector<std::vector<std::string>> runs = {{"--ranks", "1"},
                                                      {"--ranks", "2"},
                                                      {"--ranks", "4", "--replicas", "2"},
                                                      {"--ranks", "2", "--replicas", "2"},
                                                      {"--ranks", "2", "--ddp", "--bucket-kib", "100"},
                                                      {"--ranks", "2", "--no-reshard", "--prefetch", "2"}};
  std::vector<double> expected;
  for (std::vector<std::string> arguments : runs) {
    arguments.insert(arguments.end(), {"--steps", "5", "--precision", "fp32"});
    const Outcome outcome = run(fsdp(arguments));
    ASSERT_EQ(outcome.exitCode, 0) << outcome.errors;
    const std::vector<double> losses = lossesIn(outcome.output);
    ASSERT_EQ(losses.size(), 5u);
    if (expected.empty()) expected = losses;
    for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 0.0003) << arguments[3];
  }
}

TEST(FsdpProgram, ACheckpointDoesNotDependOnTheRanksAndKeepsTheLoss) {
  TemporaryFolder folder;
  std::vector<std::uintmax_t> sizes;
  for (const char* ranks : {"1", "2", "4"}) {
    const Outcome outcome = run(fsdp({"--ranks", ranks, "--steps", "2", "--save", folder.file(ranks)}));
    EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
    EXPECT_THAT(outcome.output, ContainsRegex("bytes; loss on the next batch [0-9.]+ before saving, [0-9.]+ after"));
    sizes.push_back(std::filesystem::file_size(folder.file(ranks)));
  }
  EXPECT_EQ(sizes, std::vector<std::uintmax_t>(3, sizes[0]));
}

TEST(FsdpProgram, ACheckpointThatCannotBeWrittenFails) {
  const Outcome outcome = run(fsdp({"--ranks", "1", "--steps", "1", "--save", "/no/such/folder/model"}));
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("the checkpoint /no/such/folder/model cannot be written"));
}

TEST(FsdpProgram, SaysItsCountsAndItsMemoryByHandAndAsAllocated) {
  const Outcome outcome = run(fsdp({"--ranks", "2", "--steps", "2"}));
  ASSERT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("3 forward all-gathers, 2 backward all-gathers, 3 reduce-scatters"));
  const std::regex line(
      "  (parameter|gradient|optimizer_state|activation|communication_buffer|total) +([0-9]+) +([0-9]+)");
  int lines = 0;
  for (std::sregex_iterator it(outcome.output.begin(), outcome.output.end(), line), end; it != end; ++it, ++lines)
    EXPECT_EQ((*it)[2], (*it)[3]) << (*it)[1];
  EXPECT_EQ(lines, 6);
}

TEST(FsdpProgram, ChecksItsNumbers) {
  TemporaryFolder folder;
  const Outcome outcome = run(fsdp({"--ranks", "2", "--steps", "10", "--save", folder.file("model")}));
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output << outcome.errors;
  for (const char* claim : {"the last step's collectives are those", "the peak of memory is the one calculated by hand",
                            "every loss is finite", "the loss falls", "the loaded checkpoint gives the same loss"})
    EXPECT_THAT(outcome.output, HasSubstr(std::string("ok      ") + claim));
}

// A learning rate at which the training blows up.
TEST(FsdpProgram, AFailedCheckIsExitCodeOne) {
  const Outcome outcome = run(fsdp({"--ranks", "1", "--steps", "4", "--lr", "1e30"}));
  EXPECT_EQ(outcome.exitCode, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("\nFAILED  every loss is finite"));
  EXPECT_THAT(outcome.errors, HasSubstr("fsdp: rank 0: it does not hold that every loss is finite"));
}

// fp16 has a fixed scale here, and says so.
TEST(FsdpProgram, Fp16SaysThatItsLossScaleIsFixed) {
  const Outcome outcome = run(fsdp({"--ranks", "1", "--steps", "1", "--precision", "fp16"}));
  EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("fixed loss scale 1024"));
  EXPECT_THAT(run(fsdp({"--help"})).output, ContainsRegex("fixed +loss +scale +of +1024|fixed loss scale"));
}

TEST(FsdpProgram, IsARankOfARunThatTorchrunStarted) {
  const auto rank = [&](const char* number, const char* port) {
    Command command = fsdp({"--steps", "2"});
    command.environment = {{"RANK", number},          {"LOCAL_RANK", number},       {"WORLD_SIZE", "2"},
                           {"LOCAL_WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", port}};
    return command;
  };
  const std::string port = std::to_string(20000 + getpid() % 10000);
  Process one(rank("1", port.c_str()));
  Process zero(rank("0", port.c_str()));
  const Outcome first = zero.wait();
  const Outcome second = one.wait();
  EXPECT_EQ(first.exitCode, 0) << first.errors;
  EXPECT_EQ(second.exitCode, 0) << second.errors;
  EXPECT_EQ(lossesIn(first.output).size(), 2u);
  EXPECT_EQ(second.output, "") << "rank 0 speaks";
}

std::string variableOf(pid_t pid, const std::string& name) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string entry; std::getline(in, entry, '\0');)
    if (entry.rfind(name + "=", 0) == 0) return entry.substr(name.size() + 1);
  return {};
}

void waitForStep(const Process& process, const std::string& step) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (process.outputSoFar().find(step) == std::string::npos && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

TEST(FsdpProgram, AKilledRankEndsTheRunWithASentence) {
  Process process(fsdp({"--ranks", "2", "--steps", "100000"}));
  waitForStep(process, "step 2");
  for (const pid_t pid : descendants(process.pid()))
    if (variableOf(pid, "RANK") == "1") kill(pid, SIGKILL);
  const Outcome outcome = process.wait();
  EXPECT_FALSE(outcome.timedOut);
  EXPECT_EQ(outcome.exitCode, 128 + SIGKILL);
  EXPECT_THAT(outcome.errors, HasSubstr("rank 1 was killed by signal 9"));
}

TEST(FsdpProgram, ItsRanksEndWithIt) {
  Process process(fsdp({"--ranks", "2", "--steps", "100000"}));
  waitForStep(process, "step 1");
  const auto ranks = descendants(process.pid());
  EXPECT_EQ(ranks.size(), 2u);
  kill(process.pid(), SIGKILL);
  process.wait();
  for (const pid_t pid : ranks) {
    for (int attempt = 0; attempt < 500 && !variableOf(pid, "RANK").empty(); ++attempt)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(variableOf(pid, "RANK"), "") << "rank " << pid << " lives on";
  }
}

TEST(FsdpProgram, WrongArgumentsAreOneSentenceAndExitCodeTwo) {
  struct Call {
    std::vector<std::string> arguments;
    const char* sentence;
  };
  const Call calls[] = {{{"--heads", "5"}, "--dim 64 cannot be divided by --heads 5"},
                        {{"--heads", "16"}, "not a multiple of 8"},
                        {{"--batch", "4", "--ranks", "3"}, "--batch 4 cannot be divided over 3 ranks"},
                        {{"--layers", "0"}, "--layers"},
                        {{"--layers", "two"}, "--layers"},
                        {{"--vocab", "100"}, "--vocab 100 is not a multiple of 8"},
                        {{"--preset", "nonsense"}, "--preset"},
                        {{"--ranks", "4", "--replicas", "3"}, "4 ranks cannot be divided into --replicas 3"},
                        {{"--accumulate", "3"}, "which --accumulate 3 cannot divide"},
                        {{"--prefetch", "3"}, "--prefetch"},
                        {{"--reduce-dtype", "fp8"}, "--reduce-dtype"},
                        {{"--ddp", "--replicas", "2"}, "--replicas excludes --ddp"},
                        {{"--bucket-kib", "64"}, "--bucket-kib requires --ddp"},
                        {{"--no-such-option"}, "--no-such-option"},
                        {{"--lr", "nan"}, "--lr: nan is not a number from"},
                        {{"--lr", "inf"}, "--lr: inf is not a number from"},
                        {{"--lr=-1"}, "--lr: -1 is not a number from"},
                        {{"--lr", "0"}, "--lr: 0 is not a number from"},
                        {{"--lr", "1e999"}, "--lr: 1e999 is not a number from"}};
  for (const Call& call : calls) {
    const Outcome outcome = run(fsdp(call.arguments));
    EXPECT_EQ(outcome.exitCode, 2) << call.sentence;
    EXPECT_EQ(outcome.output, "") << call.sentence;
    EXPECT_THAT(outcome.errors, HasSubstr(call.sentence));
    EXPECT_EQ(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 1) << outcome.errors;
  }
}

TEST(FsdpProgram, AHalfSetEnvironmentIsExplained) {
  Command command = fsdp({"--steps", "1"});
  command.environment = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", ""}};
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("MASTER_ADDR is not set"));
}

TEST(FsdpProgram, HelpExplainsAndSucceeds) {
  const Outcome outcome = run(fsdp({"--help"}));
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_THAT(outcome.output, HasSubstr("L + 1 reduce-scatters"));
  for (const char* option :
       {"--ranks", "--layers", "--dim", "--heads", "--vocab", "--batch", "--seq", "--steps", "--preset", "--no-reshard",
        "--prefetch", "--accumulate", "--parameter-dtype", "--reduce-dtype", "--checkpoint-activations", "--replicas",
        "--ddp", "--bucket-kib", "--save"})
    EXPECT_THAT(outcome.output, HasSubstr(option));
}

}  // namespace
}  // namespace plumb::test
