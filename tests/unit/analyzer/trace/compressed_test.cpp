// SPDX-License-Identifier: Apache-2.0
// Compressed trace files: what is written is Zstandard's seekable format, what is read is what was written, and a file
// that lies or is damaged is refused with the place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include "analyzer/trace/compress.h"
#include "analyzer/trace/compressed_file.h"
#include "analyzer/trace/frame_index.h"
#include "analyzer/trace/trace.h"
#include "analyzer/trace/zstd_vfs.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void write(const std::string& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }
std::string readAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string zstdFrame(std::string_view content) {
  std::string packed(ZSTD_compressBound(content.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), 3));
  return packed;
}

std::string number(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

struct TableEntry {
  size_t packed, size;
};
// A seek table without checksums.
std::string seekTable(const std::vector<TableEntry>& entries) {
  std::string table = number(kSeekTableMagic) + number(static_cast<uint32_t>(8 * entries.size() + 9));
  for (const TableEntry& entry : entries) {
    table += number(static_cast<uint32_t>(entry.packed)) + number(static_cast<uint32_t>(entry.size));
  }
  return table + number(static_cast<uint32_t>(entries.size())) + '\0' + number(kSeekableMagic);
}

// What any program that knows Zstandard makes of it.
std::string decompressStream(const std::string& packed) {
  ZSTD_DStream* stream = ZSTD_createDStream();
  std::string out, block(1 << 16, '\0');
  ZSTD_inBuffer source{packed.data(), packed.size(), 0};
  while (source.pos < source.size) {
    ZSTD_outBuffer target{block.data(), block.size(), 0};
    if (ZSTD_isError(ZSTD_decompressStream(stream, &target, &source))) break;
    out.append(block, 0, target.pos);
  }
  ZSTD_freeDStream(stream);
  return out;
}

class Compressed : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string made =
        (std::filesystem::temp_directory_path() / ("Compressed." + std::to_string(getpid()) + ".sqlite")).string();
    TraceBuilder trace(made);
    OneRank rank(trace);
    for (int64_t i = 0; i < kKernels; ++i) trace.addKernel(rank.work(i * 100, 50), "kernel " + std::to_string(i % 700));
    trace.finish();
    const std::string target = made + ".zst";
    ASSERT_TRUE(compressFile(made, target).ok());
    plainBytes = readAll(made);
    packedBytes = readAll(target);
    for (const std::string& path : {made, target}) std::filesystem::remove(path);
  }

  Compressed() {
    write(plain, plainBytes);
    write(packed, packedBytes);
  }
  ~Compressed() override {
    for (const std::string& path : {packed, other}) std::filesystem::remove(path);
  }

  // The message with which opening the damaged bytes as a trace fails.
  [[nodiscard]] std::string openError(std::string_view bytes) {
    write(other, bytes);
    return errorOf(Trace::open(other));
  }

  static int64_t kernelsOf(const std::string& path) {
    auto trace = Trace::open(path);
    if (!trace.ok()) throw std::runtime_error(trace.error().message);
    auto rows = trace.value().query("SELECT count(*), sum(duration_ns) FROM kernel");
    return rows.value().next() ? rows.value().integer(0) : -1;
  }

  static constexpr int64_t kKernels = 6000;
  static inline std::string plainBytes, packedBytes;
  TraceFile file;
  const std::string plain = file.path(), packed = plain + ".zst", other = plain + ".other";
};

TEST_F(Compressed, IsSmallerAndReadAsItLies) {
  EXPECT_LT(std::filesystem::file_size(packed), std::filesystem::file_size(plain) / 2);
  EXPECT_EQ(kernelsOf(packed), kKernels);
}

TEST_F(Compressed, EveryProgramThatKnowsZstandardUnpacksIt) { EXPECT_EQ(decompressStream(packedBytes), plainBytes); }

TEST_F(Compressed, UnpackedItIsTheSameFile) {
  const auto unpacked = unpackFile(packed, other);
  ASSERT_TRUE(unpacked.ok()) << unpacked.error().message;
  EXPECT_TRUE(unpacked.value().problems.empty());
  EXPECT_EQ(readAll(other), plainBytes);
}

TEST_F(Compressed, EveryPlaceReadsAsInThePlainFile) {
  const std::string expected = plainBytes;
  const auto opened = CompressedFile::open(packed);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  ASSERT_EQ(opened.value()->size(), expected.size());
  for (uint64_t offset = 0; offset < expected.size(); offset += 4093) {
    const auto piece = opened.value()->pieceAt(offset);
    ASSERT_TRUE(piece.bytes) << offset;
    EXPECT_EQ((*piece.bytes)[offset - piece.start], expected[offset]) << offset;
  }
}

TEST_F(Compressed, ThreadsShareIt) {
  const std::string expected = plainBytes;
  const auto opened = CompressedFile::open(packed);
  const auto again = CompressedFile::open(packed);
  ASSERT_TRUE(opened.ok() && again.ok());
  EXPECT_EQ(opened.value(), again.value());
  std::array<size_t, 4> wrong{};
  {
    std::vector<std::jthread> readers;
    for (size_t reader = 0; reader < wrong.size(); ++reader) {
      readers.emplace_back([&, reader] {
        for (uint64_t i = 0; i < 500; ++i) {
          const uint64_t offset = (i * 7919 + reader * 104'729) * 64 % expected.size();
          const auto piece = opened.value()->pieceAt(offset);
          wrong[reader] += !piece.bytes || (*piece.bytes)[offset - piece.start] != expected[offset];
        }
      });
    }
  }
  EXPECT_THAT(wrong, testing::Each(0u));
}

TEST_F(Compressed, TheUsersStatementsCannotWriteIntoIt) {
  ASSERT_EQ(registerZstdVfs(), SQLITE_OK);
  sqlite3* database = nullptr;
  const std::string uri = "file:" + packed + "?vfs=plumb_zstd";
  ASSERT_EQ(sqlite3_open_v2(uri.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "DELETE FROM kernel", nullptr, nullptr, nullptr), SQLITE_READONLY);
  // Temporary tables are elsewhere.
  EXPECT_EQ(sqlite3_exec(database, "CREATE TEMP TABLE t AS SELECT * FROM kernel ORDER BY duration_ns", nullptr, nullptr,
                         nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

TEST_F(Compressed, OtherFilesOpenThroughTheVfsAsEver) {
  ASSERT_EQ(registerZstdVfs(), SQLITE_OK);
  sqlite3* database = nullptr;
  const std::string uri = "file:" + plain + "?vfs=plumb_zstd";
  ASSERT_EQ(sqlite3_open_v2(uri.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, nullptr), SQLITE_OK);
  EXPECT_FALSE(isCompressed(database));
  EXPECT_EQ(sqlite3_exec(database, "DELETE FROM kernel", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
}

TEST_F(Compressed, CutAnywhereIsSaidWithTheByte) {
  const std::string whole = packedBytes;
  const size_t firstFrame = ZSTD_findFrameCompressedSize(whole.data(), whole.size());
  for (const size_t length : {size_t{4}, size_t{5}, size_t{20}, size_t{1000}, whole.size() / 2, whole.size() - 300}) {
    EXPECT_THAT(openError(whole.substr(0, length)),
                AllOf(HasSubstr("ends early, at byte " + std::to_string(length)),
                      HasSubstr(length < firstFrame ? "inside its first frame" : "plumb pack")))
        << length;
  }
}

TEST_F(Compressed, CutBetweenFramesIsSeenToo) {
  const std::string whole = packedBytes;
  const size_t first = ZSTD_findFrameCompressedSize(whole.data(), whole.size());
  EXPECT_THAT(openError(whole.substr(0, first)), HasSubstr("ends early, at byte " + std::to_string(first)));
}

TEST_F(Compressed, WithoutItsSeekTableItIsReadByItsFrames) {
  const std::string whole = packedBytes;
  write(other, whole.substr(0, whole.size() - 30));  // in the table
  EXPECT_EQ(kernelsOf(other), kKernels);
}

TEST_F(Compressed, WhatIsLeftOfACutFileCanBeUnpacked) {
  const std::string whole = packedBytes, content = plainBytes;
  write(packed, whole.substr(0, whole.size() / 2));
  const auto unpacked = unpackFile(packed, other);
  ASSERT_TRUE(unpacked.ok()) << unpacked.error().message;
  EXPECT_THAT(unpacked.value().problems, testing::ElementsAre(HasSubstr("ends early")));
  const std::string left = readAll(other);
  EXPECT_GT(left.size(), 0u);
  EXPECT_EQ(left, content.substr(0, left.size()));
}

TEST_F(Compressed, ADamagedFrameIsNamedAndTheOthersAreUnpacked) {
  std::string bytes = packedBytes;
  const std::string content = plainBytes;
  bytes[bytes.size() / 2] ^= 0x40;
  write(packed, bytes);
  auto trace = Trace::open(packed);
  ASSERT_TRUE(trace.ok()) << trace.error().message;  // its first frames are well
  auto rows = trace.value().query("SELECT sum(duration_ns + start_ns + name_id) FROM kernel NOT INDEXED");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_FALSE(rows.value().next());
  EXPECT_THAT(errorOf(rows.value().status()), AllOf(HasSubstr("is damaged in frame "), HasSubstr(", bytes ")));

  const auto unpacked = unpackFile(packed, other);
  ASSERT_TRUE(unpacked.ok()) << unpacked.error().message;
  EXPECT_THAT(unpacked.value().problems, testing::ElementsAre(HasSubstr("is damaged in frame ")));
  const std::string left = readAll(other);
  ASSERT_EQ(left.size(), content.size());
  EXPECT_EQ(left.substr(0, 128 << 10), content.substr(0, 128 << 10));
}

TEST_F(Compressed, AnyByteMayBeWrong) {
  const std::string whole = packedBytes;
  for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 100) {
    std::string bytes = whole;
    bytes[at] ^= 0x11;
    write(other, bytes);
    auto trace = Trace::open(other);
    if (!trace.ok()) continue;  // no crash, and never another answer
    auto rows = trace.value().query("SELECT count(*), sum(duration_ns) FROM kernel NOT INDEXED");
    if (rows.ok() && rows.value().next()) {
      EXPECT_EQ(rows.value().integer(0), kKernels) << at;
      EXPECT_EQ(rows.value().integer(1), 50 * kKernels) << at;
    }
  }
}

TEST_F(Compressed, ATableThatContradictsTheFileIsNotBelieved) {
  const std::string content = plainBytes;
  const std::string a = zstdFrame(content.substr(0, 65536)), b = zstdFrame(content.substr(65536));
  const size_t rest = content.size() - 65536;
  for (const std::vector<TableEntry>& entries :
       {std::vector<TableEntry>{{a.size(), 65536}, {b.size() + 1, rest}},   // longer than the file
        std::vector<TableEntry>{{a.size(), 0xFFFFFFFF}, {b.size(), rest}},  // gigabytes
        std::vector<TableEntry>{}}) {
    write(other, a + b + seekTable(entries));
    EXPECT_EQ(kernelsOf(other), kKernels);
  }
}

TEST_F(Compressed, AFrameThatHoldsMoreOrLessThanItsTableSaysIsRefused) {
  const std::string content = plainBytes;
  const std::string a = zstdFrame(content.substr(0, 65536)), b = zstdFrame(content.substr(65536));
  EXPECT_THAT(openError(a + b + seekTable({{a.size(), 60'000}, {b.size(), content.size()}})),
              HasSubstr("is damaged in frame 1 of 2, bytes 0 to " + std::to_string(a.size())));
  EXPECT_THAT(openError(a + b + seekTable({{a.size(), 70'000}, {b.size(), content.size()}})),
              HasSubstr("is damaged in frame 1 of 2"));
  EXPECT_THAT(openError(a + b + seekTable({{a.size() - 1, 65536}, {b.size() + 1, content.size()}})),
              HasSubstr("is damaged in frame 1 of 2"));
}

TEST_F(Compressed, ABombTakesNoMemory) {
  // A gigabyte: ten megabytes in each of a few hundred bytes, and a table that says so.
  const std::string frame = zstdFrame("SQLite format 3" + std::string(10 << 20, '\0'));
  std::string bytes;
  std::vector<TableEntry> entries;
  for (int i = 0; i < 100; ++i) {
    bytes += frame;
    entries.push_back({frame.size(), (10 << 20) + 15});
  }
  write(other, bytes + seekTable(entries));
  const auto opened = CompressedFile::open(other);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (uint64_t offset = 0; offset < opened.value()->size(); offset += 5 << 20) (void)opened.value()->pieceAt(offset);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 500 << 10);  // KiB; AddressSanitizer keeps 256 MiB of what was freed
}

TEST_F(Compressed, OneFrameOfEverythingIsToBeUnpackedFirst) {
  const std::string content = plainBytes + std::string(20 << 20, '\0');
  EXPECT_THAT(openError(zstdFrame(content)), AllOf(HasSubstr("unpack it with `zstd -d`"), HasSubstr("plumb pack")));
}

TEST_F(Compressed, WhatIsNoDatabaseInsideIsSaid) {
  EXPECT_THAT(openError(zstdFrame("{\"traceEvents\": []}")), HasSubstr("is not a Plumbline file"));
  EXPECT_THAT(openError(zstdFrame("[" + std::string(20 << 20, ' '))),
              HasSubstr("has to be imported first: plumb import FILE"));
  EXPECT_THAT(openError(zstdFrame("SQLite format 3")), HasSubstr("is not a Plumbline file"));
  EXPECT_THAT(openError(zstdFrame(std::string("SQLite format 3\0", 16))), HasSubstr("is damaged"));
  EXPECT_THAT(openError(seekTable({})), HasSubstr("ends early"));
}

}  // namespace
}  // namespace plumb::test
