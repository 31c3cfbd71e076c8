// SPDX-License-Identifier: Apache-2.0
// Compressed trace files: every command reads them as it reads plain ones, and pack makes and unpacks them.
#include <fstream>

#include "tests/integration/cli/cli.h"

namespace plumb::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Packed : public Cli {
 protected:
  // The sample, compressed, in a folder of its own under the name of the plain one: outputs are the same to the letter.
  std::string packed() {
    const std::string place = path("packed");
    fs::create_directories(place);
    const Outcome outcome = plumb({"pack", sample(), "-o", path("packed.zst")});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
    fs::rename(path("packed.zst"), place + "/run.sqlite");
    return place + "/run.sqlite";
  }
  // What it prints, with the file's folder taken away.
  std::string printed(std::vector<std::string> arguments, int code = 0) {
    const Outcome outcome = plumb(std::move(arguments));
    EXPECT_EQ(outcome.exitCode, code) << outcome.errors;
    EXPECT_GT(outcome.output.size(), 0u);
    std::string text = outcome.output;
    for (const std::string& place : {path("packed/"), path("")}) {
      for (size_t at = text.find(place); at != std::string::npos; at = text.find(place)) text.erase(at, place.size());
    }
    return text;
  }
  static std::string bytesOf(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }
};

TEST_F(Packed, EveryCommandAnswersAsOnThePlainFile) {
  const std::string plain = sample(), compressed = packed();
  std::ofstream(path("gate.yaml")) << "rules: [{name: kernels, value: SELECT count(*) FROM kernels, min: 1}]\n";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"summary", "FILE"},
           {"report", "breakdown,overlap,idle,kernels,launch", "FILE"},
           {"report", "critical_path", "FILE", "--rank", "0"},
           {"query", "FILE", "SELECT name, count(*) FROM kernels GROUP BY 1 ORDER BY 1"},
           {"advise", "FILE"},
           {"diff", "FILE", plain},
           {"check", "FILE", "--rules", path("gate.yaml")},
           {"export", "FILE", "--format", "folded", "-o", "-"},
           {"export", "FILE", "--format", "chrome", "-o", "-"}}) {
    std::vector<std::string> on = command, onPacked = command;
    for (std::string& word : on) word = word == "FILE" ? plain : word;
    for (std::string& word : onPacked) word = word == "FILE" ? compressed : word;
    EXPECT_EQ(printed(on), printed(onPacked)) << command[0];
  }
}

TEST_F(Packed, UnpackedItHasTheSameRows) {
  const Outcome packing = plumb({"pack", sample(), "-o", path("run.sqlite.zst")});
  EXPECT_THAT(packing.output, HasSubstr("run.sqlite.zst: "));
  ASSERT_EQ(plumb({"pack", path("run.sqlite.zst"), "-o", path("again.sqlite")}).exitCode, 0);
  EXPECT_EQ(bytesOf(path("again.sqlite")).substr(0, 15), "SQLite format 3");
  EXPECT_EQ(printed({"query", path("again.sqlite"), "SELECT * FROM kernel"}),
            printed({"query", sample(), "SELECT * FROM kernel"}));
}

TEST_F(Packed, ImportWritesWhatItsNameSays) {
  std::ofstream(path("trace.json")) << R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,
      "ts": 10, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 1}}]})";
  ASSERT_EQ(plumb({"import", path("trace.json"), "-o", path("t.sqlite.zst")}).exitCode, 0);
  EXPECT_EQ(bytesOf(path("t.sqlite.zst")).substr(0, 4), "\x28\xb5\x2f\xfd");
  EXPECT_EQ(printed({"query", path("t.sqlite.zst"), "SELECT name FROM kernels", "--format", "csv"}), "name\r\nk\r\n");
  for (const auto& entry : fs::directory_iterator(path(""))) {
    EXPECT_THAT(entry.path().string(), testing::Not(HasSubstr("ing-"))) << "something was left";
  }
  expectRefused(plumb({"import", path("t.sqlite.zst"), "-o", path("u.sqlite")}), "trace of Plumbline already");
}

TEST_F(Packed, MergeReadsAndWritesThem) {
  makeSampleTrace(path("other.sqlite"), {.layers = 1, .steps = 2});
  ASSERT_EQ(plumb({"merge", packed(), path("other.sqlite"), "-o", path("both.sqlite.zst")}).exitCode, 0);
  const auto count = [&](const std::string& file) {
    return std::stoi(printed({"query", file, "SELECT count(*) AS n FROM kernel", "--format", "csv"}).substr(3));
  };
  EXPECT_EQ(count(path("both.sqlite.zst")), count(sample()) + count(path("other.sqlite")));
}

TEST_F(Packed, WhatMustWriteSaysHowToUnpack) {
  const std::string compressed = packed();
  expectRefused(plumb({"index", compressed}), "is compressed, so it can only be read: unpack it with `plumb pack");
  expectRefused(plumb({"query", compressed, "DELETE FROM kernel"}), "for reading only");
}

TEST_F(Packed, ARecordingIsNotWrittenCompressed) {
  const Outcome outcome = plumb({"record", "-o", path("live.sqlite.zst"), "--", "true"});
  if (outcome.errors.find("plumb-launch cannot be started") != std::string::npos) GTEST_SKIP() << "no recorder here";
  EXPECT_NE(outcome.exitCode, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("a recording is written uncompressed"));
}

TEST_F(Packed, WrongUseIsSaid) {
  expectRefused(plumb({"pack", sample(), "-o", path("copy.sqlite")}), "is not compressed; name the output");
  expectRefused(plumb({"pack", path("none.sqlite"), "-o", path("x.zst")}), "There is no file");
  std::ofstream(path("taken.zst")) << "here";
  expectRefused(plumb({"pack", sample(), "-o", path("taken.zst")}), "exists already");
  EXPECT_EQ(bytesOf(path("taken.zst")), "here");
}

// import, merge and pack, as record and export: what is there is kept, and --force replaces it by what is complete.
TEST_F(Packed, ForceReplacesWhatIsThere) {
  std::ofstream(path("trace.json")) << R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,
      "ts": 10, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 1}}]})";
  makeSampleTrace(path("other.sqlite"), {.layers = 1, .steps = 2});
  const std::vector<std::vector<std::string>> commands = {
      {"import", path("trace.json"), "-o", path("out.sqlite")},
      {"import", path("trace.json"), "-o", path("out.sqlite.zst")},
      {"merge", sample(), path("other.sqlite"), "-o", path("out.sqlite")},
      {"merge", sample(), path("other.sqlite"), "-o", path("out.sqlite.zst")},
      {"pack", sample(), "-o", path("out.sqlite.zst")},
      {"pack", packed(), "-o", path("out.sqlite")}};
  for (std::vector<std::string> command : commands) {
    const std::string output = command.back();
    std::ofstream(output) << "here";
    expectRefused(plumb(command), output + " exists already; name another output with -o, or add --force.");
    EXPECT_EQ(bytesOf(output), "here");
    command.emplace_back("--force");
    const Outcome replaced = plumb(command);
    EXPECT_EQ(replaced.exitCode, 0) << replaced.errors;
    EXPECT_EQ(plumb({"summary", output}).exitCode, 0);
  }
}

TEST_F(Packed, WhatFailsLeavesTheOldFile) {
  std::ofstream(path("out.sqlite")) << "here";
  std::ofstream(path("no.json")) << "{";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"import", path("no.json")}, {"merge", sample(), path("none.sqlite")}, {"pack", path("none.zst")}}) {
    std::vector<std::string> all = command;
    all.insert(all.end(), {"-o", path("out.sqlite"), "--force"});
    EXPECT_EQ(plumb(all).exitCode, 2);
    EXPECT_EQ(bytesOf(path("out.sqlite")), "here");
  }
  // Nor is what is read replaced by what is made of it.
  const std::string before = bytesOf(packed());
  expectRefused(plumb({"pack", packed(), "-o", packed(), "--force"}), "is the trace itself");
  expectRefused(plumb({"merge", packed(), sample(), "-o", packed(), "--force"}), "is the trace itself");
  expectRefused(plumb({"import", path("no.json"), "-o", path("no.json"), "--force"}), "is the trace itself");
  EXPECT_EQ(bytesOf(packed()), before);
}

TEST_F(Packed, DamageIsNamedAndTheRestIsUnpacked) {
  const std::string whole = bytesOf(packed());
  std::ofstream(path("cut.zst"), std::ios::binary) << whole.substr(0, whole.size() / 2);
  expectRefused(plumb({"summary", path("cut.zst")}), "ends early, at byte " + std::to_string(whole.size() / 2));
  const Outcome unpacked = plumb({"pack", path("cut.zst"), "-o", path("part.sqlite")});
  EXPECT_EQ(unpacked.exitCode, 3);
  EXPECT_THAT(unpacked.errors, AllOf(HasSubstr("ends early"), HasSubstr("sqlite3 " + path("part.sqlite") + " .recover"),
                                     Not(HasSubstr("plumb pack"))));  // it is what was run
  EXPECT_EQ(bytesOf(path("part.sqlite")).substr(0, 15), "SQLite format 3");
}

TEST_F(Packed, OfAFileThatEndsInItsFirstFrameNothingIsPromised) {
  std::ofstream(path("cut.zst"), std::ios::binary) << bytesOf(packed()).substr(0, 100);
  for (const Outcome& outcome :
       {plumb({"summary", path("cut.zst")}), plumb({"pack", path("cut.zst"), "-o", path("part.sqlite")})}) {
    expectRefused(outcome, "ends early, at byte 100, inside its first frame, so nothing of it can be read");
    EXPECT_THAT(outcome.errors, Not(HasSubstr("plumb pack")));
  }
  EXPECT_FALSE(std::filesystem::exists(path("part.sqlite")));
}

}  // namespace
}  // namespace plumb::test
