// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "workloads/nn/number_option.h"

namespace plumb::fsdp {
namespace {

constexpr const char* kDescription =
    "Trains a decoder transformer on made-up text with AdamW, sharded over processes as FSDP2 does it: fp32 shards,\n"
    "bf16 compute, weights all-gathered block by block, gradients reduce-scattered in fp32.\n";

constexpr const char* kFooter =
    "\nWithout the options under Distribution every rank does per step, with L layers: L + 1 all-gathers in forward (L "
    "blocks and the root: embedding, final "
    "norm,\n"
    "head), L in backward (the last block's weights are freed and gathered again like all others; the root's are "
    "kept),\n"
    "L + 1 reduce-scatters, and one all-reduce of the loss. At the end the run checks its collectives and its memory\n"
    "against what follows from the options by hand.\n\n"
    "Started by torchrun, or with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set, it is one rank of that run.\n"
    "Exit code: 0 trained; 1 failed, or a check did not hold; 2 wrong arguments; 128 + signal when a rank was "
    "killed.\n";

void applyArticlePreset(Options& o) {
  o.dim = 2048;
  o.layers = 12;
  o.heads = 16;
  o.vocabulary = 32000;
  o.batch = 8;
  o.sequence = 1024;
  o.steps = 5;
  o.learningRate = 3e-4f;
  o.policy.bucketBytes = size_t{25} << 20;
}

// Options that are words.
struct Words {
  std::string parameterDtype = "bf16";
  std::string reduceDtype = "fp32";
  std::string device = "auto";
  std::string preset;
  bool noReshard = false;
  int bucketKib = 0;  // 0: as it is
};

nn::Dtype dtypeOf(const std::string& word) {
  if (word == "fp32") return nn::Dtype::kFloat32;
  return word == "fp16" ? nn::Dtype::kFloat16 : nn::Dtype::kBfloat16;
}

void addDistribution(CLI::App& app, Policy& p, Words& words) {
  CLI::Option_group& group = *app.add_option_group("Distribution");
  const CLI::IsMember dtype({"bf16", "fp16", "fp32"});
  group
      .add_option(
          "--parameter-dtype,--precision", words.parameterDtype,
          "of gathered weights, activations and matrix products; fp16 comes with a fixed loss scale of 1024, which "
          "suits this model; the workload amp shows dynamic scaling")
      ->check(dtype)
      ->capture_default_str();
  CLI::Option* reduce =
      group.add_option("--reduce-dtype", words.reduceDtype, "in which gradients are summed over ranks")
          ->check(dtype)
          ->capture_default_str();
  CLI::Option* noReshard =
      group.add_flag("--no-reshard", words.noReshard,
                     "keep a block's weights after its forward pass: more memory, no all-gathers in the backward pass");
  CLI::Option* prefetch = group
                              .add_option("--prefetch", p.prefetch,
                                          "blocks gathered ahead of the one that computes; 0: none, so no overlap")
                              ->check(CLI::Range(0, 2))
                              ->capture_default_str();
  group
      .add_option("--accumulate", p.accumulate,
                  "micro steps per step: the batch is divided, gradients are added up and reduced in the last one only")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  group.add_flag("--checkpoint-activations", p.checkpointActivations,
                 "keep only each block's input, and run its forward pass again in the backward pass");
  CLI::Option* replicas =
      group
          .add_option("--replicas", p.replicas,
                      "copies of the sharded model (HSDP): shards over ranks / replicas neighbours, then an all-reduce "
                      "of each shard's gradients over the copies")
          ->check(CLI::Range(1, 64))
          ->capture_default_str();
  CLI::Option* ddp = group.add_flag("--ddp", p.ddp, "shard nothing: gradients are all-reduced in buckets");
  group.add_option("--bucket-kib", words.bucketKib, "size of these buckets (default: 1024; preset article: 25600)")
      ->check(CLI::Range(1, 1 << 22))
      ->needs(ddp);
  for (CLI::Option* other : {noReshard, prefetch, replicas, reduce}) ddp->excludes(other);
  for (CLI::Option* option : group.get_options()) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void addOptions(CLI::App& app, Options& o, Words& words) {
  const CLI::Range positive(1, 1 << 24);
  app.add_option("--ranks", o.ranks, "processes to start (default: 2; on a machine with one GPU: 1)")
      ->check(CLI::Range(1, 64));
  app.add_option("--layers", o.layers, "transformer blocks")->check(positive)->capture_default_str();
  app.add_option("--dim", o.dim, "width of the model, a multiple of 8 per head")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--heads", o.heads, "attention heads")->check(positive)->capture_default_str();
  app.add_option("--vocab", o.vocabulary, "tokens in the vocabulary, a multiple of 8")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--batch", o.batch, "sequences per step, over all ranks")->check(positive)->capture_default_str();
  app.add_option("--seq", o.sequence, "tokens per sequence, a multiple of 8")->check(positive)->capture_default_str();
  app.add_option("--steps", o.steps, "training steps")->check(positive)->capture_default_str();
  app.add_option("--lr", o.learningRate, "learning rate")->check(nn::positiveNumber())->capture_default_str();
  app.add_option("--seed", o.seed, "of the weights and the data")->capture_default_str();
  app.add_option("--device", words.device, "software is the CPU behind CUDA's interfaces")
      ->check(CLI::IsMember({"auto", "gpu", "software"}))
      ->capture_default_str();
  app.add_option("--preset", words.preset,
                 "article: dim 2048, 12 layers, 16 heads, vocabulary 32000, batch 8 x 1024 tokens, 5 steps (for GPUs); "
                 "other options override it")
      ->check(CLI::IsMember({"article"}));
  app.add_option("--save", o.save,
                 "at the end gather the model to rank 0, write it to this file, load it again and compare the loss");
  addDistribution(app, o.policy, words);
  for (CLI::Option* option : app.get_options()) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void requireMultiple(const char* option, int value, int of, const char* why) {
  if (value % of != 0) throw nn::UsageError(fmt::format("{} {} is not a multiple of {}{}", option, value, of, why));
}

void validate(const Options& o) {
  if (o.dim % o.heads != 0)
    throw nn::UsageError(fmt::format("--dim {} cannot be divided by --heads {}", o.dim, o.heads));
  if (o.dim / o.heads % 8 != 0)
    throw nn::UsageError(fmt::format("--dim {} with --heads {} gives heads of {}, which is not a multiple of 8", o.dim,
                                     o.heads, o.dim / o.heads));
  requireMultiple("--vocab", o.vocabulary, 8, "");
  requireMultiple("--seq", o.sequence, 8, "");
}

}  // namespace

ModelShape Options::shape(int worldSize) const {
  return {layers, dim, heads, vocabulary, batch / (worldSize * policy.accumulate), sequence};
}

ParsedOptions parseOptions(const std::vector<std::string>& arguments) {
  ParsedOptions parsed;
  Words words;
  CLI::App app(kDescription, "fsdp");
  app.footer(kFooter);
  addOptions(app, parsed.options, words);
  const auto parse = [&] {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes a vector from its end
    app.parse(reversed);
  };
  try {
    parse();
    if (words.preset == "article") {
      applyArticlePreset(parsed.options);
      app.clear();
      parse();  // again, over the preset's values
    }
  } catch (const CLI::CallForHelp&) {
    parsed.help = app.help();
    return parsed;
  } catch (const CLI::ParseError& error) {
    throw nn::UsageError(error.what());
  }
  Policy& policy = parsed.options.policy;
  policy.parameterDtype = dtypeOf(words.parameterDtype);
  policy.reduceDtype = dtypeOf(words.reduceDtype);
  policy.reshardAfterForward = !words.noReshard;
  if (words.bucketKib > 0) policy.bucketBytes = static_cast<size_t>(words.bucketKib) << 10;
  parsed.options.device = nn::deviceWish(words.device);
  validate(parsed.options);
  return parsed;
}

void checkRanks(const Options& options, int ranks) {
  const Policy& policy = options.policy;
  if (options.batch % ranks != 0)
    throw nn::UsageError(fmt::format("--batch {} cannot be divided over {} ranks", options.batch, ranks));
  if (options.batch / ranks % policy.accumulate != 0)
    throw nn::UsageError(
        fmt::format("--batch {} gives each of {} ranks {} sequences, which --accumulate {} cannot divide",
                    options.batch, ranks, options.batch / ranks, policy.accumulate));
  if (ranks % policy.replicas != 0)
    throw nn::UsageError(fmt::format("{} ranks cannot be divided into --replicas {}", ranks, policy.replicas));
}

}  // namespace plumb::fsdp
