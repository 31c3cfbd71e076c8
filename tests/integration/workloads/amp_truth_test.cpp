// SPDX-License-Identifier: Apache-2.0
// amp in every precision, recorded: the rules of autocast and loss scaling are seen in the recording.
#include <regex>

#include "tests/integration/workloads/truth.h"

namespace plumb::test {
namespace {

constexpr int kSteps = 6;

struct Case {
  const char* name;
  std::vector<std::string> options;
  int unit;  // 0 fp32, 1 tf32, 2 fp16, 3 bf16
  bool scaled;
};

void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }

class AmpTruth : public testing::TestWithParam<Case> {};

TEST_P(AmpTruth, HoldsOnItsRecording) {
  const Case& each = GetParam();
  TemporaryFolder folder;
  const std::string file = folder.file("trace.sqlite");
  std::vector<std::string> command = {
      kBin + "/workloads/amp", "--device", "software", "--hidden", "64", "--batch", "64", "--steps",
      std::to_string(kSteps)};
  command.insert(command.end(), each.options.begin(), each.options.end());
  const Outcome outcome = record(file, command);
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output << outcome.errors;
  std::smatch found;
  ASSERT_TRUE(std::regex_search(outcome.output, found, std::regex("skipped steps +([0-9]+)"))) << outcome.output;
  const int skipped = std::stoi(found[1]);
  const bool overflows = std::string(each.name) == "Fp16Overflow";
  EXPECT_EQ(skipped > 0, overflows) << outcome.output;
  expectTruth("workloads/amp/truth.sql", file,
              {{":steps", kSteps},
               {":unit", each.unit},
               {":sixteen_bit", each.unit >= 2},
               {":scaled", each.scaled},
               {":skipped", skipped}},
              10);
}

INSTANTIATE_TEST_SUITE_P(
    Precisions, AmpTruth,
    testing::Values(Case{"Fp32", {"--precision", "fp32"}, 0, false}, Case{"Tf32", {"--precision", "tf32"}, 1, false},
                    Case{"Fp16", {"--precision", "fp16", "--initial-scale", "1024"}, 2, true},
                    Case{"Fp16Overflow", {"--precision", "fp16", "--initial-scale", "1099511627776"}, 2, true},
                    Case{"Bf16", {"--precision", "bf16"}, 3, false},
                    Case{"WrongBf16Scaler", {"--wrong", "bf16-scaler"}, 3, true},
                    Case{"WrongFp16NoScaler", {"--wrong", "fp16-no-scaler"}, 2, false}),
    [](const auto& tested) { return std::string(tested.param.name); });

// Where everything is fp16, half the memory is saved, and the training is broken; a larger epsilon only hides it.
TEST(AmpHalfModel, IsHalfInEveryTensorAndBreaksInItsRecording) {
  constexpr int kHidden = 64, kInputs = 16;
  constexpr int kParameters = kHidden * (kInputs + 2 * kHidden + 1) + 3 * kHidden + 1;
  for (const bool breaks : {true, false}) {
    TemporaryFolder folder;
    const std::string file = folder.file("trace.sqlite");
    const Outcome outcome = record(file, {kBin + "/workloads/amp", "--device", "software", "--wrong", "half-model",
                                          "--hidden", std::to_string(kHidden), "--batch", "64", "--steps",
                                          std::to_string(kSteps), "--epsilon", breaks ? "1e-8" : "1e-4"});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output << outcome.errors;
    EXPECT_EQ(std::regex_search(outcome.output, std::regex("last loss +-?nan")), breaks) << outcome.output;
    expectTruth("workloads/amp/half_model.sql", file,
                {{":steps", kSteps}, {":parameters", kParameters}, {":breaks", breaks}}, 13);
  }
}

}  // namespace
}  // namespace plumb::test
