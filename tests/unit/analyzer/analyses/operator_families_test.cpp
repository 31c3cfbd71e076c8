// SPDX-License-Identifier: Apache-2.0
// FLOPs and bytes of operators, each calculated by hand beside its formula.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyzer/analyses/convolution_operators.h"
#include "analyzer/analyses/list_operators.h"
#include "analyzer/analyses/operator_arguments.h"
#include "analyzer/analyses/operator_work.h"

namespace plumb::test {
namespace {

// Arguments as they stand in a trace; {} where a test needs none.
struct Call {
  std::string name, dims, types, values = "", strides = "";
};
std::optional<OperatorWork> workOf(const Call& call) {
  return workOfOperator(call.name, call.dims, call.types, call.values, call.strides);
}
double bytesOf(const Call& call) {
  const auto work = workOf(call);
  EXPECT_TRUE(work) << call.name;
  return work ? work->bytes : 0;
}
double flopsOf(const Call& call) {
  const auto work = workOf(call);
  EXPECT_TRUE(work) << call.name;
  return work ? work->flops : 0;
}

// torch 2.4: (query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, return_debug_mask, scale,
// window_size_left, window_size_right, seqused_k, alibi_slopes), [batch, sequence, heads, size of a head]
Call flash(const std::string& query, const std::string& key, const std::string& causal,
           const std::string& window = R"("", "")") {
  return {"aten::_flash_attention_forward",
          "[" + query + ", " + key + ", " + key + ", [], [], [], [], [], [], [], [], [], [], [], []]",
          R"(["c10::Half", "c10::Half", "c10::Half", "", "", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar",)"
          R"( "Scalar", "", "", "", ""])",
          R"(["", "", "", "", "", "4", "4", "0.", ")" + causal + R"(", "False", "0.125", )" + window + R"(, "", ""])"};
}

TEST(Attention, MultipliesQueriesWithKeysAndScoresWithValues) {
  const auto work = workOf(flash("[2, 4, 3, 8]", "[2, 4, 3, 8]", "False"));
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 2.0 * (2 * 3) * (4 * 4) * (8 + 8));
  EXPECT_EQ(work->bytes, 4 * (2 * 4 * 3 * 8) * 2);  // query, key, value, result
  EXPECT_EQ(work->precision, "fp16");
  EXPECT_EQ(work->written, 0) << "a product, which is not part of a chain of elementwise operators";
}

TEST(Attention, ACausalMaskLeavesATriangle) {
  // Of 4 queries the first sees 1 key, the last all 4.
  EXPECT_EQ(flopsOf(flash("[2, 4, 3, 8]", "[2, 4, 3, 8]", "True")), 2.0 * (2 * 3) * (1 + 2 + 3 + 4) * 16);
}

TEST(Attention, HeadsOfKeysMayServeSeveralOfQueries) {
  const auto work = workOf(flash("[2, 4, 6, 8]", "[2, 5, 3, 8]", "False"));
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 2.0 * (2 * 6) * (4 * 5) * 16);
  EXPECT_EQ(work->bytes, 2 * (2 * (2 * 4 * 6 * 8) + 2 * (2 * 5 * 3 * 8)));
}

TEST(Attention, IsUnknownWhereShapesDoNotDetermineIt) {
  EXPECT_FALSE(workOf(flash("[2, 4, 3, 8]", "[2, 4, 3, 8]", ""))) << "it is not told whether the mask is causal";
  EXPECT_FALSE(workOf(flash("[2, 4, 3, 8]", "[2, 6, 3, 8]", "True")))
      << "how the mask is aligned depends on the version";
  EXPECT_FALSE(workOf(flash("[8, 3, 8]", "[8, 3, 8]", "False"))) << "packed sequences, whose lengths are data";
  EXPECT_FALSE(workOf(flash("[2, 4, 3, 8]", "[2, 4, 3, 8]", "True", R"("2", "0")"))) << "a window";
  EXPECT_TRUE(workOf(flash("[2, 4, 3, 8]", "[2, 4, 3, 8]", "True", R"("-1", "-1")")));
}

TEST(Attention, BackwardMultipliesFiveTimes) {
  // (grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, …)
  const auto work = workOf(
      {"aten::_flash_attention_backward",
       "[[1, 4, 2, 8], [1, 4, 2, 8], [1, 4, 2, 8], [1, 4, 2, 8], [1, 4, 2, 8], [1, 2, 4], [], [], [], [], [], [], [],"
       " [], [], [], []]",
       R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "float", "", "",)"
       R"( "Scalar", "Scalar", "Scalar", "Scalar", "long int", "long int", "", "", ""])",
       R"(["", "", "", "", "", "", "", "", "4", "4", "0.", "False", "", "", "", "", ""])"});
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 5 * 2.0 * 2 * (4 * 4) * 8);
  EXPECT_EQ(work->bytes, (5 + 3) * (4 * 2 * 8) * 2);  // five are read and three gradients written
}

TEST(Attention, TheEfficientKernelReadsItsBiasAndTellsHowItsMaskIsAligned) {
  // (query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, custom_mask_type, …)
  const auto call = [](const std::string& mask) {
    return Call{"aten::_efficient_attention_forward",
                "[[1, 2, 1, 8], [1, 4, 1, 8], [1, 4, 1, 16], [1, 1, 2, 4], [], [], [], [], [], [], [], [], [], []]",
                R"(["float", "float", "float", "float", "", "", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar",)"
                R"( "", "", ""])",
                R"(["", "", "", "", "", "", "2", "4", "0.", ")" + mask + R"(", "False", "", "", ""])"};
  };
  EXPECT_EQ(flopsOf(call("0")), 2.0 * (2 * 4) * (8 + 16));
  EXPECT_EQ(flopsOf(call("1")), 2.0 * (1 + 2) * (8 + 16));  // the first query sees one key
  EXPECT_EQ(flopsOf(call("2")), 2.0 * (3 + 4) * (8 + 16));  // the last sees all four
  EXPECT_EQ(bytesOf(call("0")), 4 * (2 * 8 + 4 * 8 + 4 * 16 + 2 * 4 + 2 * 16));
}

TEST(Attention, OfCudnnHasItsHeadsBeforeTheSequence) {
  // (query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, return_debug_mask, scale)
  const Call call{"aten::_scaled_dot_product_cudnn_attention",
                  "[[1, 3, 4, 8], [1, 3, 6, 8], [1, 3, 6, 8], [], [], [], [], [], []]",
                  R"(["c10::Half", "c10::Half", "c10::Half", "", "Scalar", "Scalar", "Scalar", "Scalar", ""])",
                  R"(["", "", "", "", "True", "0.", "False", "False", ""])"};
  EXPECT_EQ(flopsOf(call), 2.0 * 3 * (4 * 6) * 16);
}

TEST(Lookups, ReadAsMuchOfTheTableAsTheResultHas) {
  const char* types = R"(["float", "Scalar", "long int"])";
  // 3 rows of 8: the index, the rows and the result.
  EXPECT_EQ(bytesOf({"aten::index_select", "[[100, 8], [], [3]]", types, R"(["", "0", ""])"}),
            3 * 8 + 3 * 8 * 4 + 3 * 8 * 4);
  // Columns: 100 of each of 3.
  EXPECT_EQ(bytesOf({"aten::index_select", "[[100, 8], [], [3]]", types, R"(["", "-1", ""])"}), 3 * 8 + 2 * 300 * 4);
  // Rows that repeat are read again from a cache, not from memory: at most the whole table.
  EXPECT_EQ(bytesOf({"aten::index_select", "[[2, 8], [], [1000]]", types, R"(["", "0", ""])"}),
            1000 * 8 + 2 * 8 * 4 + 1000 * 8 * 4);
  EXPECT_EQ(bytesOf({"aten::gather", "[[4, 50], [], [4, 7]]", types}), 28 * 8 + 2 * 28 * 4);
  EXPECT_EQ(bytesOf({"aten::embedding", "[[100, 8], [2, 3]]", R"(["c10::Half", "long int"])"}),
            6 * 8 + 2 * (6 * 8) * 2);
  EXPECT_FALSE(workOf({"aten::index_select", "[[100, 8], [], [3]]", types})) << "of which dimension is not told";
  EXPECT_TRUE(workOf({"aten::index_select", "[[100], [], [3]]", types})) << "it has one only";
}

TEST(Lookups, ScatterWritesAndAddsWhereItsIndicesSay) {
  const char* types = R"(["float", "Scalar", "long int", "float"])";
  EXPECT_EQ(bytesOf({"aten::scatter_", "[[10, 50], [], [10, 4], [10, 4]]", types}), 40 * 8 + 40 * 4 + 40 * 4);
  // 1000 numbers into 50 sums, which are read and written.
  const Call add{"aten::scatter_add_", "[[50], [], [1000], [1000]]", types};
  EXPECT_EQ(bytesOf(add), 1000 * (8 + 4) + 2 * 50 * 4);
  EXPECT_EQ(flopsOf(add), 1000);
  // Slices of 8 of the source.
  EXPECT_EQ(bytesOf({"aten::index_add_", "[[100, 8], [], [3], [3, 8], []]",
                     R"(["float", "Scalar", "long int", "float", "Scalar"])"}),
            3 * 8 + 3 * 8 * 4 + 2 * 3 * 8 * 4);
}

TEST(Lookups, EmbeddingsBackwardAndBags) {
  // 6 rows of 8 of the gradient, added to at most the 4 rows of the table.
  const Call backward{"aten::embedding_dense_backward", "[[2, 3, 8], [2, 3], [], [], []]",
                      R"(["float", "long int", "Scalar", "Scalar", "Scalar"])", R"(["", "", "4", "-1", "False"])"};
  EXPECT_EQ(bytesOf(backward), 48 * 4 + 6 * 8 + 4 * 8 * 4);
  // 5 rows of 8 summed into 2 bags.
  const Call bag{"aten::_embedding_bag", "[[100, 8], [5], [2], [], [], [], [], [], []]",
                 R"(["float", "long int", "long int", "Scalar", "Scalar", "Scalar", "", "Scalar", "Scalar"])",
                 R"(["", "", "", "False", "0", "False", "", "False", "-1"])"};
  EXPECT_EQ(bytesOf(bag), 5 * 8 + 2 * 8 + 40 * 4 + 2 * 8 * 4);
  EXPECT_EQ(flopsOf(bag), 40);
}

TEST(Lookups, ALossOfClassesReadsOneElementPerTarget) {
  EXPECT_EQ(bytesOf({"aten::nll_loss_forward", "[[32, 1000], [32], [], [], []]",
                     R"(["float", "long int", "", "Int", "Int"])"}),
            32 * 8 + 32 * 4 + 4);
  EXPECT_EQ(bytesOf({"aten::nll_loss_backward", "[[], [32, 1000], [32], [], [], [], []]",
                     R"(["float", "float", "long int", "", "Int", "Int", "float"])"}),
            4 + 32 * 8 + 32 * 4);
}

TEST(Pooling, ReadsItsInputAndWritesMaximaWithTheirPositions) {
  // Windows of 3 x 3 at every second place, padded by one: 112 become 56.
  const Call call{"aten::max_pool2d_with_indices", "[[2, 4, 112, 112], [], [], [], [], []]",
                  R"(["float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar"])",
                  R"(["", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "False"])"};
  EXPECT_EQ(bytesOf(call), (8.0 * 112 * 112) * 4 + (8.0 * 56 * 56) * (4 + 8));
  EXPECT_EQ(flopsOf(call), (8.0 * 56 * 56) * 9);
  Call withoutValues = call;
  withoutValues.values = "";
  EXPECT_FALSE(workOf(withoutValues)) << "the size of the result is not told";
}

TEST(Pooling, ACeilingKeepsTheLastWindow) {
  const auto written = [](const char* ceil) {
    const auto work = workOf({"aten::avg_pool2d", "[[1, 1, 6, 6], [], [], [], [], [], []]",
                              R"(["float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", ""])",
                              std::string(R"(["", "[3]", "[2]", "[0]", ")") + ceil + R"(", "True", ""])"});
    return work ? work->written / 4 : 0;
  };
  EXPECT_EQ(written("False"), 2 * 2);  // from 0 and 2
  EXPECT_EQ(written("True"), 3 * 3);   // also from 4, where the input ends after two
}

TEST(Pooling, AdaptiveAndBackward) {
  EXPECT_EQ(bytesOf({"aten::_adaptive_avg_pool2d", "[[2, 8, 7, 7], []]", R"(["c10::Half", "ScalarList"])",
                     R"(["", "[1, 1]"])"}),
            2 * (2 * 8 * 49 + 2 * 8));
  // (grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices): self is not read
  EXPECT_EQ(bytesOf({"aten::max_pool2d_with_indices_backward",
                     "[[2, 4, 5, 5], [2, 4, 10, 10], [], [], [], [], [], [2, 4, 5, 5]]",
                     R"(["float", "float", "GenericList", "GenericList", "GenericList", "GenericList", "Bool",)"
                     R"( "long int"])"}),
            200 * (4 + 8) + 800 * 4);
}

TEST(Dropout, WritesItsMaskToo) {
  const auto work = workOf(
      {"aten::native_dropout", "[[8, 64], [], []]", R"(["c10::Half", "Scalar", "Scalar"])", R"(["", "0.1", "True"])"});
  ASSERT_TRUE(work);
  EXPECT_EQ(work->bytes, 512 * (2 + 2 + 1));
  EXPECT_EQ(work->written, 512 * (2 + 1));
}

TEST(Fills, WriteOnly) {
  EXPECT_EQ(bytesOf({"aten::uniform_", "[[8, 64], [], [], []]", R"(["float", "Scalar", "Scalar", ""])"}), 512 * 4);
  EXPECT_EQ(bytesOf({"aten::arange", "[[], [], [], [0]]", R"(["Scalar", "Scalar", "Scalar", "long int"])",
                     R"(["238", "270", "1", ""])"}),
            32 * 8);
}

TEST(Normalizations, OverRanksAreSplitIntoTheirParts) {
  // Statistics only; the result; two sums; the gradient.
  EXPECT_EQ(bytesOf({"aten::batch_norm_stats", "[[2, 3, 4, 4], []]", R"(["float", "Scalar"])"}), 96 * 4);
  EXPECT_EQ(bytesOf({"aten::batch_norm_elemt", "[[2, 3, 4, 4], [3], [3], [3], [3], []]",
                     R"(["float", "float", "float", "float", "float", "Scalar"])"}),
            (2 * 96 + 4 * 3) * 4);
}

TEST(Fbgemm, RowsOfEightBitsHaveAScaleAndABias) {
  EXPECT_EQ(bytesOf({"fbgemm::FloatToFP8RowwiseQuantized", "[[10, 254], []]", R"(["float", "Scalar"])"}),
            10 * (254 * 4 + 256 + 8));  // padded to a multiple of 4
  EXPECT_EQ(bytesOf({"fbgemm::FP8RowwiseQuantizedToFloat", "[[10, 264], []]", R"(["unsigned char", "Scalar"])"}),
            10 * (264 + 256 * 4));
  EXPECT_EQ(bytesOf({"fbgemm::HFP8QuantizedToFloat", "[[1000], [], []]", R"(["unsigned char", "Scalar", "Scalar"])"}),
            1000 * (1 + 4));
  // Of 3 slices, so between 4 offsets.
  const char* types = R"(["float", "long int", "long int", "long int", "long int"])";
  EXPECT_EQ(bytesOf({"fbgemm::permute_pooled_embs_auto_grad", "[[2, 30], [4], [3], [4], [3]]", types}),
            2 * 60 * 4 + 14 * 8);
  EXPECT_FALSE(workOf({"fbgemm::permute_pooled_embs_auto_grad", "[[2, 30], [4], [2], [4], [2]]", types}));
}

TEST(Convolutions, AGradientKnowsItsSizeFromTheOperatorAroundIt) {
  const char* types = R"(["GenericList", "float", "float"])";
  const OperatorArguments around("[[2, 3, 8, 8], [2, 4, 6, 6], [4, 3, 3, 3]]", R"(["float", "float", "float"])", "",
                                 "");
  const OperatorArguments ofInput("[[], [2, 4, 6, 6], [4, 3, 3, 3]]", types, "", "");
  const auto input = workOfConvolutionGradient("aten::cudnn_convolution_backward_input", ofInput, around);
  ASSERT_TRUE(input);
  EXPECT_EQ(input->flops, 2.0 * (2 * 4 * 36) * (3 * 9));
  EXPECT_EQ(input->bytes, 4 * (2 * 3 * 64 + 2 * 4 * 36 + 4 * 27));
  const OperatorArguments ofWeight("[[], [2, 4, 6, 6], [2, 3, 8, 8]]", types, "", "");
  const auto weight = workOfConvolutionGradient("aten::cudnn_convolution_backward_weight", ofWeight, around);
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->flops, input->flops);
  EXPECT_EQ(weight->bytes, input->bytes);
  // Its own value comes first.
  EXPECT_EQ(flopsOf({"aten::cudnn_convolution_backward_input", "[[], [2, 4, 6, 6], [4, 3, 3, 3]]", types,
                     R"(["[2, 3, 8, 8]", "", ""])"}),
            input->flops);
}

TEST(Lists, ShapesOfTheOperatorAndTypeOfTheKernel) {
  const OperatorArguments cat("[[[4, 1, 8], [4, 5, 8]], []]", R"(["TensorList", "Scalar"])", R"(["", "1"])",
                              "[[[0, 8, 1], [40, 8, 1]], []]");
  const auto joined = workOfListOperator("aten::cat", cat);
  const auto half = listElementOf(
      "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<at::native::(anonymous "
      "namespace)::OpaqueType<2u>, unsigned int, 3, 128, 1>(at::native::OpaqueType<2u>*)");
  ASSERT_TRUE(joined && half);
  // The first was expanded: its 8 elements in memory are read once.
  EXPECT_EQ(joined->of(*half).bytes, (8 + 160) * 2 + (32 + 160) * 2);
  EXPECT_EQ(joined->of(*half).flops, 0);
}

constexpr const char* kTwoLists = "[[[10, 4], [3]], [[10, 4], [3]], []]";
constexpr const char* kTwoListTypes = R"(["TensorList", "TensorList", "Scalar"])";

TEST(Lists, Foreach) {
  const OperatorArguments arguments(kTwoLists, kTwoListTypes, "", "");
  const auto add = workOfListOperator("aten::_foreach_add_", arguments);
  const auto floats = listElementOf(
      "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
      "namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>, "
      "std::plus<float>, float>(…)");
  ASSERT_TRUE(add && floats);
  EXPECT_EQ(add->of(*floats).bytes, 3 * 43 * 4);
  EXPECT_EQ(add->of(*floats).flops, 43);
  EXPECT_EQ(add->of(*floats).precision, "fp32");
  // Lists are copied into another type: longs to ints.
  const auto copy = workOfListOperator("aten::_foreach_copy_", arguments);
  const auto longs = listElementOf(
      "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<2>, at::native::CopyFunctor<int, "
      "long, "
      "2, 1, 1>, at::native::Copy<int, long> >(…)");
  ASSERT_TRUE(copy && longs);
  EXPECT_EQ(copy->of(*longs).bytes, 43 * (8 + 4));
}

TEST(Lists, FusedOptimizers) {
  const auto adam = [](const char* maxima) {
    const std::string list = "[[10, 4], [3]]";
    const std::string dims = "[" + list + ", " + list + ", " + list + ", " + list + ", " + maxima + ", [[], []], []]";
    const OperatorArguments arguments(
        dims, R"(["TensorList", "TensorList", "TensorList", "TensorList", "TensorList", "TensorList", "Scalar"])", "",
        "");
    return workOfListOperator("aten::_fused_adamw_", arguments);
  };
  const auto element = listElementOf(
      "void at::native::multi_tensor_apply_kernel<at::native::FusedOptimizerTensorListMetadata<4>, "
      "at::native::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*>(…)");
  ASSERT_TRUE(element && adam("[]") && adam("[[10, 4], [3]]"));
  // Parameters and two states are read and written, gradients read.
  EXPECT_EQ(adam("[]")->of(*element).bytes, 43 * (4 + 3) * 4);
  EXPECT_EQ(adam("[]")->of(*element).flops, 43 * 13);
  EXPECT_EQ(adam("[]")->of(*element).written, 0) << "of no chain: the next call updates other parameters";
  EXPECT_EQ(adam("[[10, 4], [3]]")->of(*element).bytes, 43 * (5 + 4) * 4);
}

TEST(Lists, WhatIsNotRecordedIsUnknown) {
  EXPECT_FALSE(workOfListOperator("aten::cat", OperatorArguments("[[], []]", R"(["TensorList", "Scalar"])", "", "")));
  EXPECT_FALSE(listElementOf("void mine::fused_kernel<float>(float*)"));
  EXPECT_FALSE(listElementOf("void CatArrayBatchedCopy<mine::Type, 3>()"));
  EXPECT_FALSE(listElementOf("Functor"));
  EXPECT_FALSE(listElementOf(""));
}

TEST(UnknownWork, SaysWhatIsMissing) {
  const auto why = [](const char* name, const char* dims, const char* types, const char* values) {
    return whyWorkIsUnknown(name, dims, types, values);
  };
  using testing::HasSubstr;
  EXPECT_THAT(why("aten::index", "[[32, 2880], []]", R"(["float", ""])", ""), HasSubstr("shapes of its indices"));
  EXPECT_THAT(why("triton_poi_fused_add_0", "[[10]]", R"(["float"])", ""), HasSubstr("in its code"));
  EXPECT_THAT(why("aten::cat", "[[], []]", R"(["TensorList", "Scalar"])", ""), HasSubstr("shapes of its lists"));
  EXPECT_THAT(why("aten::cat", "[[[4]], []]", R"(["TensorList", "Scalar"])", ""), HasSubstr("types of its lists"));
  EXPECT_THAT(why("aten::max_pool2d_with_indices", "[[1, 2, 3, 3]]", R"(["float"])", ""), HasSubstr("values"));
  EXPECT_THAT(why("aten::add", "[[8]]", "", ""), HasSubstr("types"));
  EXPECT_THAT(why("mine::op", "[[8]]", R"(["float"])", ""), HasSubstr("no formula"));
}

}  // namespace
}  // namespace plumb::test
