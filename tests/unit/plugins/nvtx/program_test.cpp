// SPDX-License-Identifier: Apache-2.0
// A real NVTX program of several shared objects, recorded by our functions.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/nvtx/attach.h"
#include "plugins/nvtx/calls.h"
#include "tests/fakes/fake_host.h"
#include "tests/unit/plugins/nvtx/program.h"

namespace {

std::atomic<int> g_attached{0};
std::atomic<int> g_extensions{0};

// Before main, so before any NVTX call.
const int g_environmentSet = setenv("NVTX_INJECTION64_PATH", PLUMB_BUILD_DIR "/tests/libnvtx_test_injection.so", 1);

}  // namespace

extern "C" __attribute__((visibility("default"))) int plumbTestAttachNvtx(void* getExportTable) {
  ++g_attached;
  return plumb::nvtx::attachCore(getExportTable) ? 1 : 0;
}
extern "C" __attribute__((visibility("default"))) int plumbTestAttachNvtxExtension(void* moduleInfo) {
  ++g_extensions;
  return plumb::nvtx::attachPayloadExtension(moduleInfo) ? 1 : 0;
}

namespace plumb::nvtx {
namespace {

using Value = std::variant<int64_t, double, std::string>;

class NvtxProgram : public testing::Test {
 protected:
  NvtxProgram() {
    lane().host = Host(host.raw());
    lane().payloadName = lane().host.intern("payload");
    lane().fieldsLeftOut = 0;
    lane().unknownSchemas = 0;
    lane().isOn = true;
  }
  ~NvtxProgram() override { lane().isOn = false; }

  [[nodiscard]] std::vector<RangeBeginRecord> begins() const {
    return host.all<RangeBeginRecord>(RecordKind::kRangeBegin);
  }
  [[nodiscard]] std::vector<RangeEndRecord> ends() const { return host.all<RangeEndRecord>(RecordKind::kRangeEnd); }
  [[nodiscard]] std::map<std::string, Value> fields() const {
    std::map<std::string, Value> found;
    for (const PayloadFieldRecord& field : host.all<PayloadFieldRecord>(RecordKind::kPayloadField)) {
      Value value = field.integer;
      if (field.type == FieldType::kReal) {
        value = field.real;
      } else if (field.type == FieldType::kText) {
        value = host.text(field.text);
      }
      found[host.text(field.name)] = value;
    }
    return found;
  }

  test::FakeHost host;
};

TEST_F(NvtxProgram, PlainRangesAndMarks) {
  ASSERT_EQ(g_environmentSet, 0);
  program::plainRanges();
  ASSERT_EQ(begins().size(), 3u);
  EXPECT_EQ(host.text(begins()[0].name), "outer");
  EXPECT_EQ(host.text(begins()[1].name), "inner");
  EXPECT_EQ(begins()[0].kind, RangeKind::kPushPop);
  EXPECT_EQ(begins()[0].domain, 0u);
  EXPECT_EQ(begins()[0].header.tid, static_cast<uint32_t>(syscall(SYS_gettid)));
  EXPECT_LE(begins()[0].time_ns, begins()[1].time_ns);
  EXPECT_EQ(begins()[2].kind, RangeKind::kMark);
  EXPECT_EQ(host.text(begins()[2].name), "mark");
  ASSERT_EQ(ends().size(), 2u);
  EXPECT_EQ(ends()[0].kind, RangeKind::kPushPop);
}

TEST_F(NvtxProgram, DomainsCategoriesColorsAndRegisteredStrings) {
  void* domain = program::makeDomain();
  EXPECT_EQ(program::makeDomain(), domain) << "one domain per name";
  void* string = program::registerString(domain, "all-gather");
  program::domainRange(domain, string);
  ASSERT_EQ(begins().size(), 1u);
  EXPECT_EQ(host.text(begins()[0].domain), "trainer");
  EXPECT_EQ(host.text(begins()[0].name), "all-gather");
  EXPECT_EQ(host.text(begins()[0].category), "communication");
  EXPECT_EQ(begins()[0].color_argb, 0xFF00FF00u);
  EXPECT_EQ(host.text(ends()[0].domain), "trainer");
}

TEST_F(NvtxProgram, HandlesOfOneSharedObjectWorkInAnother) {
  void* domain = program::makeDomain();
  void* string = program::registerString(domain, "made in one");
  program::useForeignString(domain, string);
  EXPECT_EQ(host.text(begins()[0].name), "made in one");
  EXPECT_EQ(host.text(begins()[0].domain), "trainer");
  EXPECT_GE(g_attached, 2) << "each shared object attaches by itself";
}

TEST_F(NvtxProgram, AStartedRangeCanEndOnAnotherThreadInAnotherSharedObject) {
  void* domain = program::makeDomain();
  const uint64_t first = program::startRange(domain, "first");
  const uint64_t second = program::startRange(domain, "second");
  EXPECT_NE(first, second);
  std::thread([&] { program::endRange(domain, first); }).join();
  ASSERT_EQ(begins().size(), 2u);
  ASSERT_EQ(ends().size(), 1u);
  EXPECT_EQ(begins()[0].range_id, first);
  EXPECT_EQ(begins()[0].kind, RangeKind::kStartEnd);
  EXPECT_EQ(ends()[0].range_id, first);
  EXPECT_NE(ends()[0].header.tid, begins()[0].header.tid);
}

TEST_F(NvtxProgram, ThePlainPayload) {
  program::stepWithPayload(17);
  EXPECT_EQ(fields()["payload"], Value(int64_t{17}));
}

TEST_F(NvtxProgram, FieldsOfAnExtendedPayloadFollowTheirRange) {
  program::operationWithCost("rms_norm", 1'000'000, 4096);
  EXPECT_GE(g_extensions, 1);
  EXPECT_EQ(fields()["flops"], Value(int64_t{1'000'000}));
  EXPECT_EQ(fields()["bytes"], Value(int64_t{4096}));
  std::vector<RecordKind> kinds;
  host.forEach([&](const RecordHeader* header) { kinds.push_back(header->kind); });
  EXPECT_THAT(kinds, testing::ElementsAre(RecordKind::kRangeBegin, RecordKind::kPayloadField, RecordKind::kPayloadField,
                                          RecordKind::kRangeEnd));
}

TEST_F(NvtxProgram, NestedSchemasArraysAndTexts) {
  program::nestedPayload();
  const std::map<std::string, Value> found = fields();
  EXPECT_EQ(found.at("scale"), Value(0.5));
  EXPECT_EQ(found.at("shape.rows"), Value(int64_t{-3}));
  EXPECT_EQ(found.at("shape.columns"), Value(int64_t{4}));
  EXPECT_EQ(found.at("factor[0]"), Value(1.0));
  EXPECT_EQ(found.at("factor[2]"), Value(3.0));
  EXPECT_EQ(found.at("label"), Value(std::string("fwd")));
  EXPECT_EQ(found.at("note"), Value(std::string("a longer note")));
  EXPECT_EQ(lane().fieldsLeftOut, 0u);
}

TEST_F(NvtxProgram, EnumerationsByName) {
  program::enumPayload();
  std::vector<std::string> values;
  for (const PayloadFieldRecord& field : host.all<PayloadFieldRecord>(RecordKind::kPayloadField)) {
    values.push_back(field.type == FieldType::kText ? host.text(field.text) : std::to_string(field.integer));
  }
  EXPECT_THAT(values, testing::ElementsAre("TREE", "9"));
}

TEST_F(NvtxProgram, ARangeThatIsOnlyAPayload) {
  program::payloadOnly();
  ASSERT_EQ(begins().size(), 1u);
  EXPECT_EQ(host.text(begins()[0].name), "from payload");
  EXPECT_EQ(fields().at("items"), Value(int64_t{-1}));
  EXPECT_EQ(ends().size(), 1u);
}

TEST_F(NvtxProgram, AnUnknownSchemaIsCountedAndTheRangeKept) {
  program::unknownSchema();
  ASSERT_EQ(begins().size(), 1u);
  EXPECT_TRUE(fields().empty());
  reportLeftOut();
  EXPECT_EQ(host.diagnostic("payload_schema_unknown").count, 1u);
}

TEST_F(NvtxProgram, WideTextAndThreadNames) {
  program::wideRange();
  EXPECT_EQ(host.text(begins()[0].name), "Schritt über 🚀");
  program::nameThisThread(4711, "loader");
  const auto names = host.all<ThreadNameRecord>(RecordKind::kThreadName);
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].header.tid, 4711u);
  EXPECT_EQ(host.text(names[0].name), "loader");
}

TEST_F(NvtxProgram, AskingForADomainSaysWhetherWeRecord) {
  void* domain = program::makeDomain();
  EXPECT_EQ(program::isEnabled(domain), 1);
  lane().isOn = false;
  EXPECT_EQ(program::isEnabled(domain), 0);
}

TEST_F(NvtxProgram, OffMeansNothingIsWritten) {
  lane().isOn = false;
  program::plainRanges();
  program::stepWithPayload(1);
  program::payloadOnly();
  EXPECT_EQ(program::startRange(nullptr, "x"), 0u);
  EXPECT_EQ(host.recordCount(), 0u);
}

}  // namespace
}  // namespace plumb::nvtx
