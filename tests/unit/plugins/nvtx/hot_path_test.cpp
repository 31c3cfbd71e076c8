// SPDX-License-Identifier: Apache-2.0
// What a program pays for a range: no heap.
#include <gtest/gtest.h>

#include "plugins/nvtx/calls.h"
#include "tests/fakes/allocation_count.h"
#include "tests/fakes/fake_host.h"

namespace plumb::nvtx {
namespace {

TEST(NvtxHotPath, RangesAllocateNothing) {
  if (!test::allocationsAreCounted()) {
    GTEST_SKIP() << "a sanitizer counts allocations itself";
  }
  test::FakeHost host;
  lane().host = Host(host.raw());
  lane().payloadName = lane().host.intern("payload");
  lane().isOn = true;
  const nvtxDomainHandle_t domain = calls::domainCreateA("domain");
  nvtxPayloadSchemaEntry_t entry{};
  entry.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64;
  entry.name = "flops";
  nvtxPayloadSchemaAttr_t schema{};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
  schema.entries = &entry;
  schema.numEntries = 1;
  const uint64_t schemaId = calls::payloadSchemaRegister(domain, &schema);
  const uint64_t flops = 5;
  nvtxPayloadData_t data{schemaId, sizeof flops, &flops};
  nvtxEventAttributes_t event{};
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "operation";
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = reinterpret_cast<uint64_t>(&data);
  const auto oneOfEach = [&] {
    calls::rangePushA("range");
    calls::domainRangePushEx(domain, &event);
    calls::domainRangePop(domain);
    calls::domainRangeEnd(domain, calls::domainRangeStartEx(domain, &event));
    calls::markW(L"mark");
    calls::rangePop();
  };
  oneOfEach();  // the first sight of the names and of the thread
  const size_t before = test::allocationsOfThisThread();
  oneOfEach();
  EXPECT_EQ(test::allocationsOfThisThread(), before);
  lane().isOn = false;
}

}  // namespace
}  // namespace plumb::nvtx
