// SPDX-License-Identifier: Apache-2.0
// Named memory: what NVTX's memory extension is called with, and which records come of it.
#include "plugins/memory/calls.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/allocation_count.h"
#include "tests/fakes/fake_host.h"

namespace plumb::memory {
namespace {

const void* address(uint64_t value) { return reinterpret_cast<const void*>(value); }

void registerRegion(uint64_t at, size_t bytes, nvtxMemHeapHandle_t heap = NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE) {
  const nvtxMemVirtualRangeDesc_t range{bytes, address(at)};
  nvtxMemRegionsRegisterBatch_t batch{};
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.heap = heap;
  batch.regionCount = 1;
  batch.regionDescElementSize = sizeof range;
  batch.regionDescElements = &range;
  calls::regionsRegister(nullptr, &batch);
}

void nameRegion(uint64_t at, const char* name) {
  nvtxMemRegionNameDesc_t description{};
  description.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  description.nameType = NVTX_MESSAGE_TYPE_ASCII;
  description.region.pointer = address(at);
  description.name.ascii = name;
  nvtxMemRegionsNameBatch_t batch{};
  batch.regionCount = 1;
  batch.regionElementSize = sizeof description;
  batch.regionElements = &description;
  calls::regionsName(nullptr, &batch);
}

void endRegion(uint64_t at) {
  nvtxMemRegionRef_t reference{};
  reference.pointer = address(at);
  nvtxMemRegionsUnregisterBatch_t batch{};
  batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  batch.refCount = 1;
  batch.refElementSize = sizeof reference;
  batch.refElements = &reference;
  calls::regionsUnregister(nullptr, &batch);
}

void resizeRegion(uint64_t at, size_t bytes) {
  const nvtxMemVirtualRangeDesc_t range{bytes, address(at)};
  nvtxMemRegionsResizeBatch_t batch{};
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.regionDescCount = 1;
  batch.regionDescElementSize = sizeof range;
  batch.regionDescElements = &range;
  calls::regionsResize(nullptr, &batch);
}

class MemoryCalls : public testing::Test {
 protected:
  MemoryCalls() {
    lane().host = Host(host.raw());
    lane().isOn = true;
    lane().lost = 0;
    lane().unknown = 0;
  }
  ~MemoryCalls() override { lane().isOn = false; }

  // "+name@address:bytes" for a beginning, "-address" for an end, in their order.
  [[nodiscard]] std::vector<std::string> story() const {
    std::vector<std::string> lines;
    host.forEach([&](const RecordHeader* header) {
      if (header->kind == RecordKind::kMemoryRegion) {
        const auto* r = reinterpret_cast<const MemoryRegionRecord*>(header);
        std::string line(1, '+');
        line.append(host.text(r->name)).append(1, '@').append(std::to_string(r->address));
        lines.push_back(line.append(1, ':').append(std::to_string(r->bytes)));
      } else if (header->kind == RecordKind::kMemoryRegionEnd) {
        lines.push_back(std::string(1, '-').append(
            std::to_string(reinterpret_cast<const MemoryRegionEndRecord*>(header)->address)));
      }
    });
    return lines;
  }

  test::FakeHost host;
};

TEST_F(MemoryCalls, ARegionIsWrittenWhenItHasBothSizeAndName) {
  registerRegion(4096, 100);
  EXPECT_THAT(story(), testing::IsEmpty());
  nameRegion(4096, "parameter/head");
  endRegion(4096);
  EXPECT_THAT(story(), testing::ElementsAre("+parameter/head@4096:100", "-4096"));
}

TEST_F(MemoryCalls, ARegionWithoutANameLeavesNoTrace) {
  registerRegion(4096, 100);
  endRegion(4096);
  EXPECT_THAT(story(), testing::IsEmpty());
}

TEST_F(MemoryCalls, RenamingEndsTheOldName) {
  registerRegion(4096, 100);
  nameRegion(4096, "activation/x");
  nameRegion(4096, "activation/x");
  nameRegion(4096, "gradient/x");
  EXPECT_THAT(story(), testing::ElementsAre("+activation/x@4096:100", "-4096", "+gradient/x@4096:100"));
  endRegion(4096);
}

TEST_F(MemoryCalls, ResizingKeepsTheName) {
  registerRegion(4096, 100);
  nameRegion(4096, "activation/x");
  resizeRegion(4096, 200);
  EXPECT_THAT(story(), testing::ElementsAre("+activation/x@4096:100", "-4096", "+activation/x@4096:200"));
  endRegion(4096);
}

TEST_F(MemoryCalls, AddressesAreUsedAgain) {
  for (int i = 0; i < 3; ++i) {
    registerRegion(4096, 100);
    nameRegion(4096, "activation/x");
    endRegion(4096);
  }
  EXPECT_EQ(story().size(), 6u);
  EXPECT_EQ(lane().lost, 0u);
}

TEST_F(MemoryCalls, RegisteringTwiceEndsTheFirst) {
  registerRegion(4096, 100);
  nameRegion(4096, "activation/x");
  registerRegion(4096, 300);
  nameRegion(4096, "activation/y");
  EXPECT_THAT(story(), testing::ElementsAre("+activation/x@4096:100", "-4096", "+activation/y@4096:300"));
  endRegion(4096);
}

TEST_F(MemoryCalls, RegionsOfANamedHeapHaveItsName) {
  nvtxMemHeapDesc_t description{};
  description.messageType = NVTX_MESSAGE_TYPE_ASCII;
  description.message.ascii = "workspace/arena";
  nvtxMemHeapHandle_t heap = calls::heapRegister(nullptr, &description);
  ASSERT_NE(heap, nullptr);
  registerRegion(4096, 100, heap);
  registerRegion(8192, 200, heap);
  nameRegion(8192, "gradient/g");
  calls::heapReset(nullptr, heap);
  EXPECT_THAT(story(), testing::UnorderedElementsAre("+workspace/arena@4096:100", "+workspace/arena@8192:200", "-8192",
                                                     "+gradient/g@8192:200", "-4096", "-8192"));
}

TEST_F(MemoryCalls, BatchesOfLongerElementsAreReadByTheirOwnSize) {
  struct LongerRange {
    nvtxMemVirtualRangeDesc_t known;
    uint64_t later;
  };
  const LongerRange ranges[2] = {{{10, address(4096)}, 9}, {{20, address(8192)}, 9}};
  nvtxMemRegionHandle_t handles[2]{};
  nvtxMemRegionsRegisterBatch_t batch{};
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.regionCount = 2;
  batch.regionDescElementSize = sizeof(LongerRange);
  batch.regionDescElements = ranges;
  batch.regionHandleElementsOut = handles;
  calls::regionsRegister(nullptr, &batch);
  nameRegion(8192, "input/tokens");
  EXPECT_THAT(story(), testing::ElementsAre("+input/tokens@8192:20"));
  EXPECT_EQ(reinterpret_cast<uint64_t>(handles[1]), 8192u) << "the handle is the address";
  endRegion(4096);
  endRegion(8192);
}

TEST_F(MemoryCalls, NonsenseIsIgnoredAndCounted) {
  nameRegion(1, "parameter/never registered");
  endRegion(2);
  calls::regionsRegister(nullptr, nullptr);
  calls::regionsName(nullptr, nullptr);
  calls::regionsUnregister(nullptr, nullptr);
  calls::regionsResize(nullptr, nullptr);
  nvtxMemRegionsNameBatch_t noElements{};
  noElements.regionCount = 5;
  calls::regionsName(nullptr, &noElements);
  EXPECT_THAT(story(), testing::IsEmpty());
  reportLost();
  EXPECT_EQ(host.diagnostic("regions_unknown").count, 2u);
}

TEST_F(MemoryCalls, NamingAllocatesNothing) {
  if (!test::allocationsAreCounted()) {
    GTEST_SKIP() << "a sanitizer counts allocations itself";
  }
  const auto once = [] {
    registerRegion(4096, 100);
    nameRegion(4096, "activation/x");
    endRegion(4096);
  };
  once();
  const size_t before = test::allocationsOfThisThread();
  once();
  EXPECT_EQ(test::allocationsOfThisThread(), before);
}

TEST_F(MemoryCalls, OffMeansNothingIsWritten) {
  lane().isOn = false;
  registerRegion(4096, 100);
  nameRegion(4096, "activation/x");
  endRegion(4096);
  EXPECT_EQ(host.recordCount(), 0u);
}

}  // namespace
}  // namespace plumb::memory
