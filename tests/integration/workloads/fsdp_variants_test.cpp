// SPDX-License-Identifier: Apache-2.0
// Every way to distribute the training, recorded: what the recording shows is what the options ask for.
#include "tests/integration/workloads/truth.h"
#include "workloads/fsdp/options.h"

namespace plumb::test {
namespace {

struct Variant {
  const char* name;
  int ranks;
  std::vector<std::string> options;
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

class FsdpVariants : public testing::TestWithParam<Variant> {};

std::map<std::string, int64_t> parametersOf(const fsdp::Options& options, int ranks) {
  const fsdp::Policy& policy = options.policy;
  const fsdp::StepCollectives planned = fsdp::plannedCollectives(options.shape(ranks), policy);
  return {{":ranks", ranks},
          {":steps", options.steps},
          {":layers", options.layers},
          {":forward_gathers", planned.forwardGathers},
          {":backward_gathers", planned.backwardGathers},
          {":reduce_scatters", planned.reduceScatters},
          {":gradient_all_reduces", planned.gradientAllReduces},
          {":micro_steps", policy.accumulate},
          {":prefetch", policy.ddp ? -1 : policy.prefetch},
          {":recomputes", policy.checkpointActivations},
          {":shards", policy.shards(ranks)},
          {":parameter_bytes", static_cast<int64_t>(nn::sizeOf(policy.parameterDtype))},
          {":reduce_bytes", static_cast<int64_t>(nn::sizeOf(policy.reduceDtype))},
          {":checkpoint", !options.save.empty()}};
}

TEST_P(FsdpVariants, AreSeenInTheirRecordings) {
  const Variant& variant = GetParam();
  TemporaryFolder folder;
  std::vector<std::string> arguments = {"--device", "software", "--ranks", std::to_string(variant.ranks),
                                        "--layers", "3",        "--dim",   "64",
                                        "--vocab",  "256",      "--seq",   "32",
                                        "--batch",  "4",        "--steps", "2"};
  arguments.insert(arguments.end(), variant.options.begin(), variant.options.end());
  if (variant.options.empty()) arguments.insert(arguments.end(), {"--save", folder.file("model")});
  std::vector<std::string> command = arguments;
  command.insert(command.begin(), kBin + "/workloads/fsdp");
  const std::string file = folder.file("trace.sqlite");
  const Outcome outcome = record(file, command);
  ASSERT_EQ(outcome.exitCode, 0) << outcome.output << outcome.errors;
  expectTruth("workloads/fsdp/variants.sql", file, parametersOf(fsdp::parseOptions(arguments).options, variant.ranks),
              15);
}

INSTANTIATE_TEST_SUITE_P(Options, FsdpVariants,
                         testing::Values(Variant{"Checkpoint", 2, {}}, Variant{"NoReshard", 2, {"--no-reshard"}},
                                         Variant{"Prefetch0", 2, {"--prefetch", "0"}},
                                         Variant{"Prefetch2", 2, {"--prefetch", "2"}},
                                         Variant{"Accumulate", 2, {"--accumulate", "2"}},
                                         Variant{"Types", 2, {"--parameter-dtype", "fp32", "--reduce-dtype", "bf16"}},
                                         Variant{"Recompute", 2, {"--checkpoint-activations"}},
                                         Variant{"Hsdp", 4, {"--replicas", "2"}},
                                         Variant{"Ddp", 2, {"--ddp", "--bucket-kib", "128", "--accumulate", "2"}}),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace plumb::test
