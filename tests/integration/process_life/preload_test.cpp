// SPDX-License-Identifier: Apache-2.0
// A preloaded program lives and dies as without us, and what it did is in the file.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>

#include "tests/integration/process_life/life.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

// ---- nothing to record ----------------------------------------------------------------------------------------------

class Inert : public Life, public testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(Inert, RunsAsEverAndLeavesNothing) {
  const Outcome without = run(plain(GetParam()));
  if (without.exitCode == 127) {
    GTEST_SKIP() << GetParam().front() << " is not installed";
  }
  expectSame(run(preloaded(GetParam())), without);
  EXPECT_THAT(recordings(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Inert,
    testing::Values(std::vector<std::string>{"bash", "-c", "echo $((6 * 7)); export A=b; bash -c 'echo $A'; exit 3"},
                    std::vector<std::string>{"git", "--version"},
                    std::vector<std::string>{"python3", "-c",
                                             "import sqlite3, subprocess; print(sqlite3.sqlite_version); "
                                             "print(subprocess.check_output(['echo', 'hi']))"},
                    std::vector<std::string>{"perl", "-e", "my $child = fork; wait if $child; print \"x\\n\"; exit 2"},
                    std::vector<std::string>{"sh", "-c", "kill -9 $$"}, std::vector<std::string>{"/bin/false"}));

// ---- ways to live and die -------------------------------------------------------------------------------------------

struct Way {
  std::string name;
  std::vector<std::string> ranges;     // in the file, by start
  std::vector<std::string> processes;  // how each ended, by start
};

class Ways : public Life, public testing::WithParamInterface<Way> {};

TEST_P(Ways, AreUnchangedAndRecorded) {
  const Way& way = GetParam();
  const std::vector<std::string> command = {kProgram, way.name, file("data")};
  const Outcome without = run(plain(command));
  expectSame(run(preloaded(command)), without);
  const Database recording = onlyRecording();
  std::vector<std::string> ranges;
  for (const auto& row : recording.rows("SELECT name FROM ranges ORDER BY start_ns")) {
    ranges.push_back(row[0]);
  }
  EXPECT_EQ(ranges, way.ranges);
  std::vector<std::string> ended;
  for (const auto& row : recording.rows("SELECT ended FROM process ORDER BY start_ns, id")) {
    ended.push_back(row[0]);
  }
  EXPECT_EQ(ended, way.processes);
}

INSTANTIATE_TEST_SUITE_P(
    All, Ways,
    testing::Values(Way{"return", {"only"}, {"exit"}}, Way{"exit", {"only"}, {"exit"}},
                    Way{"_exit", {"only"}, {"lost"}}, Way{"kill", {"last"}, {"lost"}}, Way{"term", {"last"}, {"lost"}},
                    Way{"abort", {"last"}, {"lost"}}, Way{"segv", {"last"}, {"lost"}},
                    Way{"fork exit", {"parent", "child", "parent after"}, {"exit", "exit"}},
                    Way{"fork _exit", {"parent", "child", "parent after"}, {"exit", "lost"}},
                    Way{"fork abort", {"parent", "child", "parent after"}, {"exit", "lost"}},
                    Way{"fork idle", {"parent", "parent after"}, {"exit"}},
                    Way{"exec", {"before", "only"}, {"lost", "exit"}}, Way{"children", {"first"}, {"exit"}},
                    Way{"lowest descriptor", {"first"}, {"exit"}}, Way{"blocked signal", {"first"}, {"exit"}},
                    Way{"spawned", {"first"}, {"exit"}}, Way{"raw fork", {"parent", "parent after"}, {"exit"}}),
    [](const testing::TestParamInfo<Way>& way) {
      std::string name = way.param.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name.front() == '_' ? "underscore" + name : name;
    });

TEST_F(Life, ThreadsComeAndGo) {
  const Outcome without = run(plain({kProgram, "threads"}));
  expectSame(run(preloaded({kProgram, "threads"})), without);
  const Database recording = onlyRecording();
  EXPECT_EQ(recording.number("SELECT count(*) FROM ranges"), 300);
  EXPECT_EQ(recording.number("SELECT count(*) FROM diagnostic WHERE code = 'ring_full'"), 0);
}

TEST_F(Life, ClosingEveryDescriptorHarmsNobody) {
  const Outcome without = run(plain({kProgram, "close all", file("plain")}));
  expectSame(run(preloaded({kProgram, "close all", file("preloaded")})), without);
  EXPECT_EQ(run({.arguments = {"cat", file("preloaded")}, .environment = {}, .directory = {}}).output, "mine\n")
      << "nothing of ours may land in a file of the target";
  EXPECT_EQ(onlyRecording().text("SELECT name FROM ranges ORDER BY start_ns LIMIT 1"), "before");
}

// ---- sessions -------------------------------------------------------------------------------------------------------

TEST_F(Life, AllProcessesOfATreeLandInOneFile) {
  const std::string command = "'" + kProgram + "' return & '" + kProgram + "' kill & (exec '" + kProgram +
                              "' return) & '" + kProgram + "' 'fork exit' & wait; exit 5";
  const Outcome outcome = run(preloaded({"bash", "-c", command}));
  EXPECT_EQ(outcome.exitCode, 5);
  EXPECT_EQ(onlyRecording().number("SELECT count(*) FROM process"), 5);
}

TEST_F(Life, TheFileIsNamedAfterTheProgramAndItsPid) {
  EXPECT_EQ(run(preloaded({kProgram, "return"})).exitCode, 7);
  ASSERT_EQ(recordings().size(), 1u);
  EXPECT_THAT(recordings().front(), testing::MatchesRegex(".*/plumb-life_program-[0-9]+\\.sqlite"));
}

TEST_F(Life, AScriptThatEndsWithExecGivesWayToWhatItExecutes) {
  (void)run(preloaded({"bash", "-c", "exec '" + kProgram + "' return"}));
  ASSERT_EQ(recordings().size(), 1u);
  EXPECT_THAT(recordings().front(), HasSubstr("/plumb-life_program-"));
}

TEST_F(Life, AWrapperGivesTheNameToWhatItStarts) {
  EXPECT_EQ(run(preloaded({"timeout", "60", kProgram, "return"})).exitCode, 7);
  ASSERT_EQ(recordings().size(), 1u);
  EXPECT_THAT(recordings().front(), HasSubstr("/plumb-life_program-"));
}

TEST_F(Life, PlumbOutputNamesTheFile) {
  Command command = preloaded({kProgram, "return"});
  command.environment["PLUMB_OUTPUT"] = "mine.sqlite";
  (void)run(command);
  EXPECT_THAT(recordings(), UnorderedElementsAre(file("mine.sqlite")));
}

TEST_F(Life, AFileThatCannotBeMadeIsSaidOnceAndDisturbsNobody) {
  Command command = preloaded({kProgram, "fork exit"});
  command.environment["PLUMB_OUTPUT"] = "no/such/folder/x.sqlite";
  const Outcome without = run(plain({kProgram, "fork exit"})), with = run(command);
  EXPECT_EQ(with.exitCode, without.exitCode);
  EXPECT_EQ(with.output, without.output);
  EXPECT_EQ(with.errors, "plumb: nothing is recorded: the folder " + file("no/such/folder/") +
                             " does not exist (PLUMB_OUTPUT names the file).\n");
  EXPECT_THAT(recordings(), IsEmpty());
  Command inert = preloaded({"/bin/true"});
  inert.environment["PLUMB_OUTPUT"] = "no/such/folder/x.sqlite";
  EXPECT_EQ(run(inert).errors, "");
}

TEST_F(Life, RanksAndNamedVariablesAreRecordedAndNothingElse) {
  Command command = preloaded({kProgram, "return"});
  command.environment.insert({{"RANK", "3"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "8"}, {"NCCL_DEBUG", "WARN"}});
  command.environment["SECRET_TOKEN"] = "hunter2";
  (void)run(command);
  const Database recording = onlyRecording();
  EXPECT_EQ(recording.number("SELECT rank * 100 + local_rank * 10 + world_size FROM process"), 318);
  std::vector<std::string> names;
  for (const auto& row : recording.rows("SELECT s.text FROM process_variable v JOIN string s ON s.id = v.name_id")) {
    names.push_back(row[0]);
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"RANK", "LOCAL_RANK", "WORLD_SIZE", "NCCL_DEBUG"}));
  EXPECT_THAT(names, Not(testing::Contains("SECRET_TOKEN")));
}

// ---- other ways in --------------------------------------------------------------------------------------------------

TEST_F(Life, NvtxAloneIsEnough) {
  Command command = plain({kProgram, "return"});
  command.environment["NVTX_INJECTION64_PATH"] = kAgent;
  expectSame(run(command), run(plain({kProgram, "return"})));
  EXPECT_EQ(onlyRecording().text("SELECT name FROM ranges"), "only");
}

// Ranks that a variable alone brings us into are told one file by one parent: they share it, as preloaded ones do.
TEST_F(Life, ProcessesThatNvtxAloneBringsInShareTheFileTheyAreTold) {
  const std::string start = "'" + kProgram + "' ";
  Command command = plain({"bash", "-c", start + "return & " + start + "return & wait"});
  command.environment["NVTX_INJECTION64_PATH"] = kAgent;
  command.environment["PLUMB_OUTPUT"] = file("ranks.sqlite");
  EXPECT_EQ(run(command).exitCode, 0);
  const Database recording = onlyRecording();
  EXPECT_EQ(recording.number("SELECT count(*) FROM process"), 2);
  EXPECT_EQ(recording.number("SELECT count(*) FROM ranges WHERE name = 'only'"), 2);
}

TEST_F(Life, LoadsAfterThirtyLibrariesWithThreadLocalData) {
  for (int i = 0; i < 30; ++i) {
    std::filesystem::copy_file(PLUMB_BUILD_DIR "/tests/process_life/libtls_library.so",
                               file("tls" + std::to_string(i) + ".so"));
  }
  Command command = plain({kProgram, "after libraries", m_folder.path()});
  const Outcome without = run(command);
  EXPECT_EQ(without.output, "30 libraries\n");
  command.environment["NVTX_INJECTION64_PATH"] = kAgent;
  expectSame(run(command), without);
  EXPECT_EQ(onlyRecording().text("SELECT name FROM ranges"), "after libraries");
}

TEST_F(Life, AnotherToolsInjectionIsLeftAlone) {
  Command command = preloaded({"bash", "-c", "echo $CUDA_INJECTION64_PATH; exec '" + kProgram + "' injected"});
  command.environment["CUDA_INJECTION64_PATH"] = "/opt/other/libtool.so";
  EXPECT_EQ(run(command).output, "/opt/other/libtool.so\nfine\n");
  EXPECT_EQ(onlyRecording().text("SELECT lane FROM diagnostic WHERE code = 'foreign_injection'"), "cupti");
}

class Allocators : public Life, public testing::WithParamInterface<const char*> {};

TEST_P(Allocators, WorkInBothOrders) {
  const Outcome found =
      run({.arguments = {"sh", "-c", std::string("ldconfig -p | grep -o '/.*") + GetParam() + "[^ ]*' | head -n 1"},
           .environment = {},
           .directory = {}});
  if (found.output.empty()) {
    GTEST_SKIP() << GetParam() << " is not installed";
  }
  const std::string allocator = found.output.substr(0, found.output.find('\n'));
  for (const std::string& order : {allocator + ":" + kAgent, kAgent + ":" + allocator}) {
    Command command = preloaded({kProgram, "threads"});
    command.environment["LD_PRELOAD"] = order;
    expectSame(run(command), run(plain({kProgram, "threads"})));
  }
  EXPECT_EQ(recordings().size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(All, Allocators, testing::Values("libjemalloc.so", "libtcmalloc"));

// ---- failures of ours -----------------------------------------------------------------------------------------------

TEST_F(Life, WithoutARecorderTheTargetRunsUnharmed) {
  Command command = preloaded({kProgram, "fork exit"});
  command.environment["PLUMB_RECORDER"] = "/nowhere/plumb-recorder";
  expectSame(run(command), run(plain({kProgram, "fork exit"})));
  EXPECT_THAT(recordings(), IsEmpty());
}

TEST_F(Life, WithARecorderThatDiesAtOnceTheTargetRunsUnharmed) {
  Command command = preloaded({kProgram, "sleep"});
  command.environment["PLUMB_RECORDER"] = "/bin/false";
  expectSame(run(command), run(plain({kProgram, "sleep"})));
}

TEST_F(Life, WithoutPluginsTheTargetRunsUnharmedAndTheFileSaysSo) {
  Command command = preloaded({kProgram, "return"});
  command.environment["PLUMB_PLUGIN_DIR"] = "/nowhere";
  expectSame(run(command), run(plain({kProgram, "return"})));
  EXPECT_EQ(onlyRecording().number("SELECT count(*) FROM diagnostic WHERE code = 'no_plugins'"), 1);
}

TEST_F(Life, APluginThatIsNoneIsReported) {
  std::filesystem::create_directory(file("plugins"));
  std::filesystem::copy_file(kPlugins + "/life.so", file("plugins/life.so"));
  run({.arguments = {"sh", "-c", "echo junk > " + file("plugins/junk.so")}, .environment = {}, .directory = {}});
  std::filesystem::copy_file(PLUMB_BUILD_DIR "/tests/process_life/libtls_library.so", file("plugins/other.so"));
  Command command = preloaded({kProgram, "return"});
  command.environment["PLUMB_PLUGIN_DIR"] = file("plugins");
  expectSame(run(command), run(plain({kProgram, "return"})));
  const Database recording = onlyRecording();
  EXPECT_EQ(recording.text("SELECT group_concat(lane) FROM (SELECT lane FROM diagnostic WHERE code = 'plugin_failed' "
                           "ORDER BY lane)"),
            "junk,other");
  EXPECT_EQ(recording.text("SELECT group_concat(name || ' ' || state) FROM (SELECT * FROM plugin ORDER BY name)"),
            "junk off,life on,other off");
}

TEST_F(Life, WhenTheRecorderIsKilledTheTargetRunsOn) {
  Command command = preloaded({kProgram, "sleep"});
  const std::string pidFile = file("pid");
  // A recorder that tells its pid.
  run({.arguments = {"sh", "-c",
                     "printf '#!/bin/sh\\necho $$ > " + pidFile +
                         "\\nexec " PLUMB_BUILD_DIR "/bin/plumb-recorder \"$@\"\\n' > " + file("recorder") +
                         "; chmod +x " + file("recorder")},
       .environment = {},
       .directory = {}});
  command.environment["PLUMB_RECORDER"] = file("recorder");
  Process target(command);
  pid_t recorder = 0;
  for (int i = 0; i < 200 && recorder <= 0; ++i) {
    usleep(10'000);
    recorder = std::atoi(run({.arguments = {"cat", pidFile}, .environment = {}, .directory = {}}).output.c_str());
  }
  ASSERT_GT(recorder, 0);
  kill(recorder, SIGKILL);
  EXPECT_EQ(target.wait().exitCode, 11);
}

}  // namespace
}  // namespace plumb::test
