// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/text.h"

#include <gtest/gtest.h>

#include "tests/unit/analyzer/testing.h"

namespace plumb::cli {
namespace {

TEST(Escaped, NothingReachesTheTerminalThatMovesIt) {
  EXPECT_EQ(escaped("gemm<float, 128>"), "gemm<float, 128>");
  EXPECT_EQ(escaped("größe 漢字"), "größe 漢字");
  EXPECT_EQ(escaped("\x1b[2J\x07 a\nb\tc\rd"), "\\x1b[2J\\x07 a\\nb\\tc\\x0dd");
  EXPECT_EQ(escaped("\xc2\x9b"), "\\x9b");  // C1 control: CSI
  EXPECT_EQ(escaped("\xe2\x80\xae"
                    "evil"),
            "\\u202eevil");  // right-to-left override
  EXPECT_EQ(escaped("\xff\xc0\x80"), "\\xff\\xc0\\x80");
  EXPECT_EQ(escaped(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Repaired, IsValidUtf8) {
  EXPECT_EQ(repaired("a\xff"
                     "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(repaired("\xed\xa0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(repaired("größe"), "größe");
}

TEST(Shortened, KeepsBothEnds) {
  EXPECT_EQ(shortened("abc", 5), "abc");
  EXPECT_EQ(shortened("abcdefghij", 7), "abcd…ij");
  EXPECT_EQ(width(shortened(std::string(300, 'x'), 46)), 46u);
}

TEST(Format, PeopleCanReadIt) {
  EXPECT_EQ(formatDuration(Duration(999)), "999 ns");
  EXPECT_EQ(formatDuration(Duration(1500)), "1.5 µs");
  EXPECT_EQ(formatDuration(Duration(999'990)), "1.00 ms");
  EXPECT_EQ(formatDuration(Duration(12'345'678)), "12.35 ms");
  EXPECT_EQ(formatDuration(Duration(61'000'000'000)), "61.000 s");
  EXPECT_EQ(formatShort(Duration(999)), "999 ns");
  EXPECT_EQ(formatShort(Duration(1'150'000'000)), "1.15 s");
  EXPECT_EQ(formatShort(Duration(41'604'000)), "41.6 ms");
  EXPECT_EQ(formatShort(Duration(999'600)), "1.00 ms");
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1536), "1.50 KiB");
  EXPECT_EQ(formatBytes(1024.0 * 1024 * 1024), "1.00 GiB");
  EXPECT_EQ(formatPerSecond(1.5e9, "B"), "1.50 GB/s");
  EXPECT_EQ(formatCount(1234567), "1,234,567");
  EXPECT_EQ(formatCount(-1234), "-1,234");
  EXPECT_EQ(formatCount(999), "999");
}

TEST(Nanoseconds, AreReadExactly) {
  const auto read = [](std::string_view text) { return test::valueOf(parseNanoseconds(text)); };
  EXPECT_EQ(read("250000"), 250'000);
  EXPECT_EQ(read("12.5ms"), 12'500'000);
  EXPECT_EQ(read("1s"), 1'000'000'000);
  EXPECT_EQ(read("250us"), 250'000);
  EXPECT_EQ(read("0.000000001s"), 1);
  EXPECT_EQ(read(".5µs"), 500);
  EXPECT_EQ(read("-1.50 ms"), -1'500'000);
  EXPECT_EQ(read("9223372036854775807"), INT64_MAX);
  for (const char* wrong : {"", "ms", "1x", "1.2.3ms", "1e3", "0.5", "0.1ns", "9223372036854775808", "1 000", "--1"}) {
    EXPECT_FALSE(parseNanoseconds(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace plumb::cli
