// SPDX-License-Identifier: Apache-2.0
#include "plugins/nvtx/schemas.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/fakes/fake_host.h"

namespace plumb::nvtx {
namespace {

nvtxPayloadSchemaEntry_t entry(uint64_t type, const char* name, uint64_t flags = 0, uint64_t detail = 0,
                               uint64_t offset = 0) {
  nvtxPayloadSchemaEntry_t out{};
  out.type = type;
  out.name = name;
  out.flags = flags;
  out.arrayOrUnionDetail = detail;
  out.offset = offset;
  return out;
}

class SchemasTest : public testing::Test {
 protected:
  uint64_t add(const std::vector<nvtxPayloadSchemaEntry_t>& entries, uint64_t id = 0, uint64_t pack = 0,
               StringId domain = 0) {
    nvtxPayloadSchemaAttr_t attributes{};
    attributes.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
    attributes.entries = entries.data();
    attributes.numEntries = entries.size();
    if (id) {
      attributes.fieldMask |= NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
      attributes.schemaId = id;
    }
    if (pack) {
      attributes.fieldMask |= NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT;
      attributes.packAlign = pack;
    }
    return schemas.registerSchema(Host(host.raw()), domain, attributes);
  }

  test::FakeHost host;
  static inline Schemas schemas;
};

TEST_F(SchemasTest, OffsetsFollowTheRulesOfC) {
  const Schema* schema =
      schemas.find(0, add({entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT8, "a"), entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "b"),
                           entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "c")}));
  ASSERT_NE(schema, nullptr);
  ASSERT_EQ(schema->count, 3u);
  EXPECT_EQ(schema->fields[0].offset, 0u);
  EXPECT_EQ(schema->fields[1].offset, 8u);
  EXPECT_EQ(schema->fields[2].offset, 16u);
}

TEST_F(SchemasTest, PackedStructsHaveNoGaps) {
  const Schema* schema = schemas.find(
      0, add({entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT8, "a"), entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "b")}, 0, 1));
  ASSERT_NE(schema, nullptr);
  EXPECT_EQ(schema->fields[1].offset, 1u);
}

TEST_F(SchemasTest, TheCallersMemoryIsNotNeededAfterwards) {
  std::vector<nvtxPayloadSchemaEntry_t> entries{entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "kept")};
  const uint64_t id = add(entries);
  entries.clear();
  entries.shrink_to_fit();
  EXPECT_EQ(host.text(schemas.find(0, id)->fields[0].name), "kept");
}

TEST_F(SchemasTest, IdsOfTheProgramBelongToItsDomain) {
  const uint64_t id = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
  EXPECT_EQ(add({entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "x")}, id, 0, 11), id);
  EXPECT_NE(schemas.find(11, id), nullptr);
  EXPECT_EQ(schemas.find(12, id), nullptr);
}

TEST_F(SchemasTest, WhatCannotBeRepresentedIsCountedAndTheRestKept) {
  const Schema* schema = schemas.find(
      0, add({entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "kept"), entry(NVTX_PAYLOAD_ENTRY_TYPE_INT128, "too wide"),
              entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "variable", NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX, 0, 8),
              entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "no longer placed"),
              entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "placed", 0, 0, 64)}));
  ASSERT_NE(schema, nullptr);
  EXPECT_EQ(schema->leftOut, 3u);
  ASSERT_EQ(schema->count, 2u);
  EXPECT_EQ(host.text(schema->fields[1].name), "placed");
}

TEST_F(SchemasTest, LongArraysShowTheirBeginning) {
  const Schema* schema =
      schemas.find(0, add({entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "v", NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 100)}));
  ASSERT_NE(schema, nullptr);
  EXPECT_EQ(schema->count, 16u);
  EXPECT_EQ(schema->leftOut, 84u);
}

TEST_F(SchemasTest, UselessDescriptionsAreRefused) {
  nvtxPayloadSchemaAttr_t nothing{};
  EXPECT_EQ(schemas.registerSchema(Host(host.raw()), 0, nothing), 0u);
  EXPECT_EQ(add({}), 0u);
  nvtxPayloadEnumAttr_t none{};
  EXPECT_EQ(schemas.registerEnum(Host(host.raw()), 0, none), 0u);
}

TEST_F(SchemasTest, AFieldOutsideThePayloadIsNotRead) {
  const Schema* schema = schemas.find(0, add({entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "x", 0, 0, 8)}));
  const uint64_t payload = 1;
  PayloadFieldRecord out;
  EXPECT_FALSE(decodeField(Host(host.raw()), schema->fields[0], &payload, sizeof payload, 1, out));
}

TEST_F(SchemasTest, EveryNumberType) {
  struct Case {
    uint64_t type;
    std::vector<uint8_t> bytes;
    int64_t value;
  };
  const std::vector<Case> cases{{NVTX_PAYLOAD_ENTRY_TYPE_INT8, {0xFF}, -1},
                                {NVTX_PAYLOAD_ENTRY_TYPE_UINT8, {0xFF}, 255},
                                {NVTX_PAYLOAD_ENTRY_TYPE_INT16, {0xFE, 0xFF}, -2},
                                {NVTX_PAYLOAD_ENTRY_TYPE_UINT16, {0xFE, 0xFF}, 65534},
                                {NVTX_PAYLOAD_ENTRY_TYPE_INT32, {0xFF, 0xFF, 0xFF, 0xFF}, -1},
                                {NVTX_PAYLOAD_ENTRY_TYPE_UINT32, {0xFF, 0xFF, 0xFF, 0xFF}, 4294967295},
                                {NVTX_PAYLOAD_ENTRY_TYPE_SIZE, {1, 0, 0, 0, 0, 0, 0, 0}, 1}};
  for (const Case& c : cases) {
    const Schema* schema = schemas.find(0, add({entry(c.type, "x")}));
    PayloadFieldRecord out;
    ASSERT_TRUE(decodeField(Host(host.raw()), schema->fields[0], c.bytes.data(), c.bytes.size(), 1, out));
    EXPECT_EQ(out.integer, c.value) << c.type;
    EXPECT_EQ(out.type, FieldType::kInteger);
  }
}

}  // namespace
}  // namespace plumb::nvtx
