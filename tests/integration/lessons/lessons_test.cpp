// SPDX-License-Identifier: Apache-2.0
// Every lesson on the software device: alone, under `plumb record` with its truth.sql, and with wrong arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/database.h"
#include "tests/support/process.h"

namespace plumb::test {
namespace {

struct Lesson {
  std::string name;
  std::vector<std::string> arguments;         // small enough for a second or two
  std::map<std::string, int64_t> parameters;  // of truth.sql
  std::string wrongValue;                     // an option and a value that it must refuse
  std::string column;                         // of the table that it prints
  std::map<std::string, std::string> environment = {};
};

void PrintTo(const Lesson& lesson, std::ostream* out) { *out << lesson.name; }

// Other programs leave one core of a busy machine to a test rather than all of them at once.
const std::map<std::string, std::string> kOneThread = {{"SOFTCUDA_THREADS", "1"}};

const std::vector<Lesson> kLessons = {
    {"formats", {}, {}, "", "bf16"},
    {"timing", {"--largest", "1024", "--repeats", "5"}, {}, "--largest=3", "TFLOP/s"},
    {"memory", {"--batch", "32"}, {{":parameters", 25175040}, {":largest", 4096 * 4096}}, "--hidden=0", "by hand"},
    {"copies", {}, {}, "--batches=-1", "ms per batch"},
    {"synchronization", {"--steps", "20"}, {{":steps", 20}}, "--steps=none", "loop"},
    {"small_kernels",
     {"--layers", "1", "--steps", "10"},
     {{":layers", 1}, {":steps", 10}},
     "--columns=100",
     "launches"},
    {"bound", {"--repeats", "1"}, {{":repeats", 1}}, "--repeats=0", "bound by", kOneThread},
    {"faults",
     {"--steps", "5", "--tiny", "64"},
     {{":ranks", 2}, {":steps", 5}, {":tiny", 64}},
     "--fault=cosmic-rays",
     "all-reduce ms"},
};

const std::string kPlumb = PLUMB_BUILD_DIR "/bin/plumb";

std::string programOf(const std::string& lesson) { return PLUMB_BUILD_DIR "/bin/workloads/lessons/" + lesson; }

Outcome runLesson(const std::string& name, std::vector<std::string> arguments, const std::string& recording = "",
                  const std::map<std::string, std::string>& environment = {}) {
  Command command;
  command.environment = environment;
  if (!recording.empty()) command.arguments = {kPlumb, "record", "-o", recording, "--"};
  command.arguments.push_back(programOf(name));
  command.arguments.insert(command.arguments.end(), {"--device", "software"});
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return run(command);
}

// What of truth.sql does not hold on the recording.
std::vector<std::string> untrue(const std::string& file, const std::string& recording,
                                const std::map<std::string, int64_t>& parameters) {
  std::ostringstream truth;
  truth << std::ifstream(PLUMB_SOURCE_DIR "/workloads/lessons/" + file).rdbuf();
  EXPECT_FALSE(truth.str().empty()) << file;
  const auto rows = Database(recording).rows(truth.str(), parameters);
  EXPECT_GE(rows.size(), 4u);
  std::vector<std::string> wrong;
  for (const auto& row : rows) {
    if (row[1] != "1") wrong.push_back(file + ": " + row[0] + " (" + row[2] + ")");
  }
  return wrong;
}

void expectOneSentence(const Outcome& outcome, const std::string& lesson) {
  EXPECT_EQ(outcome.exitCode, 2) << outcome.output << outcome.errors;
  EXPECT_EQ(outcome.errors.rfind(lesson + ": ", 0), 0u) << outcome.errors;
  EXPECT_EQ(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 1) << outcome.errors;
}

class Lessons : public testing::TestWithParam<Lesson> {};

TEST_P(Lessons, PrintsItsTableAndItsNumbersPassItsOwnChecks) {
  const Outcome outcome = runLesson(GetParam().name, GetParam().arguments, "", GetParam().environment);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output << outcome.errors;
  EXPECT_NE(outcome.output.find(GetParam().column), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("\nok "), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("FAILED"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.errors, "");
}

// Some of it are times, which other programs on the machine can break: it is recorded up to three times.
TEST_P(Lessons, WhatItShowsIsInItsRecording) {
  std::vector<std::string> wrong = {"not recorded"};
  for (int attempt = 0; attempt < 3 && !wrong.empty(); ++attempt) {
    const TemporaryFolder folder;
    const std::string recording = folder.file("lesson.sqlite");
    const Outcome outcome = runLesson(GetParam().name, GetParam().arguments, recording, GetParam().environment);
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output << outcome.errors;
    wrong = untrue(GetParam().name + "/truth.sql", recording, GetParam().parameters);
  }
  EXPECT_THAT(wrong, testing::IsEmpty());
}

TEST_P(Lessons, HelpSaysWhatItShows) {
  const Outcome outcome = runLesson(GetParam().name, {"--help"});
  EXPECT_EQ(outcome.exitCode, 0);
  EXPECT_NE(outcome.output.find("--device"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.errors, "");
}

TEST_P(Lessons, WrongArgumentsAreOneSentence) {
  expectOneSentence(runLesson(GetParam().name, {"--nonsense"}), GetParam().name);
  expectOneSentence(run({{programOf(GetParam().name), "--device", "abacus"}, {}, {}, std::chrono::seconds(30)}),
                    GetParam().name);
  if (!GetParam().wrongValue.empty())
    expectOneSentence(runLesson(GetParam().name, {GetParam().wrongValue}), GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(All, Lessons, testing::ValuesIn(kLessons),
                         [](const auto& instance) { return instance.param.name; });

// What README's list of lessons says that advice names, in the default output: not among what is too small to matter.
struct Named {
  std::string lesson;
  std::vector<std::string> arguments;
  std::string rule, words;  // of the finding
};
void PrintTo(const Named& named, std::ostream* out) { *out << named.lesson << ": " << named.rule; }

const std::vector<Named> kNamed = {
    {"synchronization", {}, "hidden_synchronization", "'loss read every step'"},
    {"synchronization", {}, "launch_bound", "'made on the host'"},
    {"small_kernels", {}, "small_kernels", "'eager, batch 64'"},
    {"faults", {"--ranks", "4"}, "stragglers", "rank 3 arrived last"},
    {"faults", {"--fault", "missing-rank"}, "missing_rank", "rank 1 never came to AllReduce 4"},
};

bool isNamed(const Named& named, const std::string& recording) {
  const Outcome advice =
      run({{kPlumb, "advise", recording, "--format", "json"}, {{"PLUMB_RULES", ""}, {"XDG_CONFIG_HOME", "/none"}}, {}});
  EXPECT_EQ(advice.exitCode, 0) << advice.errors;
  const auto printed = nlohmann::json::parse(advice.output, nullptr, false);
  if (!printed.is_object()) return false;
  return std::ranges::any_of(printed["findings"], [&](const nlohmann::json& finding) {
    return finding["rule"] == named.rule &&
           finding["finding"].get<std::string>().find(named.words) != std::string::npos;
  });
}

class Advice : public testing::TestWithParam<Named> {};

// Other programs on the machine can hide a fault: it is recorded up to five times.
TEST_P(Advice, NamesTheFaultOfTheLesson) {
  bool isFound = false;
  for (int attempt = 0; attempt < 5 && !isFound; ++attempt) {
    const TemporaryFolder folder;
    const std::string recording = folder.file("lesson.sqlite");
    runLesson(GetParam().lesson, GetParam().arguments, recording);
    isFound = isNamed(GetParam(), recording);
  }
  EXPECT_TRUE(isFound);
}

INSTANTIATE_TEST_SUITE_P(Readme, Advice, testing::ValuesIn(kNamed),
                         [](const auto& instance) { return instance.param.lesson + "_" + instance.param.rule; });

TEST(MissingRank, EndsTheOthersWithASentenceThatNamesItAndTheCollective) {
  const TemporaryFolder folder;
  const std::string recording = folder.file("missing.sqlite");
  const Outcome outcome =
      runLesson("faults", {"--fault", "missing-rank", "--ranks", "3", "--timeout", "1500"}, recording);
  EXPECT_EQ(outcome.exitCode, 1) << outcome.output << outcome.errors;
  for (const char* rank : {"0", "1"}) {
    const std::string sentence = std::string("faults: rank ") + rank +
                                 ": AllReduce 4 of 65536 floats timed out after 1.5 s: rank 2 has not entered it";
    EXPECT_NE(outcome.errors.find(sentence), std::string::npos) << outcome.errors;
  }
  EXPECT_THAT(untrue("faults/truth_missing_rank.sql", recording, {{":ranks", 3}, {":timeout_ms", 1500}}),
              testing::IsEmpty());
}

// However busy the machine is.
TEST(WrongResults, FailALesson) {
  const Outcome outcome = runLesson("small_kernels", {"--layers", "1"}, "",
                                    {{"LD_PRELOAD", PLUMB_BUILD_DIR "/tests/lessons_wrong_results.so"}});
  EXPECT_EQ(outcome.exitCode, 1) << outcome.output << outcome.errors;
  EXPECT_NE(outcome.output.find("\nFAILED  batch 64: both give the same result"), std::string::npos) << outcome.output;
}

TEST(Timing, WorkThatIsTooShortToCompareIsNotJudged) {
  const Outcome outcome = runLesson("timing", {"--largest", "64"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output << outcome.errors;
  EXPECT_NE(outcome.output.find("too short to compare the three ways"), std::string::npos) << outcome.output;
}

TEST(Faults, FourRanksFindTheSameCulprit) {
  const Outcome outcome = runLesson("faults", {"--ranks", "4", "--fault", "late-rank", "--delay", "100"});
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output << outcome.errors;
}

// What the roofline report says of the operations whose bounds are known, in a recording made with roofs that were
// measured right before it; empty when a program failed.
std::map<std::string, std::string> verdictsOfBound() {
  const TemporaryFolder folder;
  const std::string recording = folder.file("bound.sqlite"), roofs = folder.file("roofs.json");
  const Outcome measured =
      run({{PLUMB_BUILD_DIR "/bin/workloads/calibrate", "--device", "software", "--seconds", "0.1"}, kOneThread, {}});
  EXPECT_EQ(measured.exitCode, 0) << measured.errors;
  if (measured.exitCode != 0) return {};
  const auto device = nlohmann::json::parse(measured.output);
  std::ofstream(roofs) << nlohmann::json{{device["uuid"].get<std::string>(), device}};
  std::map<std::string, std::string> environment = kOneThread;
  environment["PLUMB_ROOFS"] = roofs;
  runLesson("bound", {"--repeats", "1"}, recording, environment);
  const Outcome report = run({{kPlumb, "report", "roofline", recording, "--format", "json"}, {}, {}});
  EXPECT_EQ(report.exitCode, 0) << report.errors;
  if (report.exitCode != 0) return {};
  std::map<std::string, std::string> verdicts;
  for (const auto& row : nlohmann::json::parse(report.output)) {
    const std::string operation = row["operation"].get<std::string>();
    if (operation == "layer norm" || operation == "softmax" || operation == "decode GEMV" ||
        operation == "cublasGemmEx")
      verdicts[operation] = row["verdict"].get<std::string>();
  }
  return verdicts;
}

// The report takes all runs of a kernel together. Where other programs take the cores it rightly says that a kernel is
// slower than its roofs, so a moment in which they do not is waited for.
TEST(Bound, TheRooflineReportSaysMemoryAndCompute) {
  const std::map<std::string, std::string> known = {{"layer norm", "memory-bound"},
                                                    {"softmax", "memory-bound"},
                                                    {"decode GEMV", "memory-bound"},
                                                    {"cublasGemmEx", "compute-bound"}};
  std::map<std::string, std::string> verdicts;
  for (int attempt = 0; attempt < 5 && verdicts != known; ++attempt) verdicts = verdictsOfBound();
  EXPECT_EQ(verdicts, known);
}

}  // namespace
}  // namespace plumb::test
