// SPDX-License-Identifier: Apache-2.0
// Every instruction set's conversions against NVIDIA's own host functions, and the edges by name.
#include "workloads/softcuda/numerics/convert.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace {

using softcuda::Conversions;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class Convert : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    m_convert = softcuda::conversionsFor(GetParam());
    if (!m_convert) {
      GTEST_SKIP() << "this CPU has no " << GetParam();
    }
  }
  uint16_t half(float value) const {
    uint16_t result = 0;
    m_convert->fp32_to_fp16(&value, &result, 1);
    return result;
  }
  uint16_t bf16(float value) const {
    uint16_t result = 0;
    m_convert->fp32_to_bf16(&value, &result, 1);
    return result;
  }
  float tf32(float value) const {
    float result = 0;
    m_convert->fp32_to_tf32(&value, &result, 1);
    return result;
  }
  const Conversions* m_convert = nullptr;
};

// Bit patterns from all over the range of fp32, NaNs and subnormals among them.
std::vector<float> samples() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 65521 * 5) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (uint32_t half = 0; half < 0x7c00; ++half) {  // both sides of every rounding boundary of fp16
    const float low = __half2float(__ushort_as_half(static_cast<unsigned short>(half)));
    const float high =
        half == 0x7bff ? 65536.0f : __half2float(__ushort_as_half(static_cast<unsigned short>(half + 1)));
    const float middle = (low + high) / 2;
    values.insert(values.end(), {middle, std::nextafter(middle, 0.0f), -std::nextafter(middle, kInfinity)});
  }
  return values;
}

TEST_P(Convert, WidensEveryHalfExactly) {
  std::vector<uint16_t> halves(65536);
  std::iota(halves.begin(), halves.end(), uint16_t{0});
  std::vector<float> wide(halves.size());
  m_convert->fp16_to_fp32(halves.data(), wide.data(), halves.size());
  for (size_t i = 0; i < halves.size(); ++i) {
    const float expected = __half2float(__ushort_as_half(halves[i]));
    ASSERT_TRUE(std::isnan(expected) ? std::isnan(wide[i]) : wide[i] == expected) << "half " << i;
  }
}

TEST_P(Convert, RoundsToHalfAsNvidiaDoes) {
  const std::vector<float> values = samples();
  std::vector<uint16_t> narrow(values.size());
  m_convert->fp32_to_fp16(values.data(), narrow.data(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      ASSERT_TRUE(std::isnan(__half2float(__ushort_as_half(narrow[i]))));
    } else {
      ASSERT_EQ(narrow[i], __half_as_ushort(__float2half_rn(values[i]))) << values[i];
    }
  }
}

TEST_P(Convert, RoundsToBfloat16AsNvidiaDoes) {
  const std::vector<float> values = samples();
  std::vector<uint16_t> narrow(values.size());
  std::vector<float> wide(values.size());
  m_convert->fp32_to_bf16(values.data(), narrow.data(), values.size());
  m_convert->bf16_to_fp32(narrow.data(), wide.data(), narrow.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      ASSERT_TRUE(std::isnan(wide[i]));
    } else {
      ASSERT_EQ(narrow[i], __bfloat16_as_ushort(__float2bfloat16_rn(values[i]))) << values[i];
      ASSERT_EQ(wide[i], __bfloat162float(__ushort_as_bfloat16(narrow[i])));
    }
  }
}

TEST_P(Convert, HalfEndsAt65504) {
  EXPECT_EQ(half(65504.0f), 0x7bff);
  EXPECT_EQ(half(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(half(65520.0f), 0x7c00) << "the tie rounds to even, which is infinity";
  EXPECT_EQ(half(70000.0f), 0x7c00);
  EXPECT_EQ(half(-kInfinity), 0xfc00);
}

TEST_P(Convert, HalfKeepsSubnormals) {
  EXPECT_EQ(half(0x1p-24f), 0x0001);
  EXPECT_EQ(half(0x1p-25f), 0x0000) << "the tie rounds to even, which is zero";
  EXPECT_EQ(half(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(half(1e-8f), 0x0000);
  EXPECT_EQ(half(-1e-8f), 0x8000) << "zero keeps its sign";
}

TEST_P(Convert, Bfloat16HasEightBitsOfPrecision) {
  const auto rounded = [this](float value) { return std::bit_cast<float>(static_cast<uint32_t>(bf16(value)) << 16); };
  EXPECT_EQ(rounded(70000.0f), 70144.0f);
  EXPECT_EQ(rounded(1001.0f), 1000.0f);
  EXPECT_EQ(rounded(1e-8f), 1.0011717677116394e-08f);
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_TRUE(std::isnan(rounded(kNan)));
  EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(0x7f800001u)))) << "a NaN whose payload is cut off stays one";
}

TEST_P(Convert, Tf32HasElevenBitsOfPrecision) {
  EXPECT_EQ(tf32(1.0f + 0x1p-10f), 1.0f + 0x1p-10f);
  EXPECT_EQ(tf32(1.0f + 0x1p-11f), 1.0f + 0x1p-10f) << "ties go away from zero";
  EXPECT_EQ(tf32(1.0f + 0x1p-12f), 1.0f);
  EXPECT_EQ(tf32(-(1.0f + 0x1p-11f)), -(1.0f + 0x1p-10f));
  EXPECT_EQ(tf32(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_EQ(tf32(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(tf32(kNan)));
}

TEST_P(Convert, HandlesEveryLength) {
  for (size_t length = 0; length < 70; ++length) {
    std::vector<float> values(length + 1, 1.5f);
    std::vector<uint16_t> narrow(length + 1, 0xabcd);
    m_convert->fp32_to_fp16(values.data(), narrow.data(), length);
    EXPECT_EQ(narrow[length], 0xabcd) << "wrote behind the end";
    m_convert->fp16_to_fp32(narrow.data(), values.data(), length);
    for (size_t i = 0; i < length; ++i) {
      ASSERT_EQ(values[i], 1.5f);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Convert, testing::Values("portable", "avx2", "avx512"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Convert, PicksASetThatRuns) {
  const float value = 1.0f;
  uint16_t half = 0;
  softcuda::conversions().fp32_to_fp16(&value, &half, 1);
  EXPECT_EQ(half, 0x3c00);
}

}  // namespace
