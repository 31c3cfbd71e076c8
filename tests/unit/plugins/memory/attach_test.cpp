// SPDX-License-Identifier: Apache-2.0
#include "plugins/memory/attach.h"

#include <vector>

#include <gtest/gtest.h>

#include "plugins/memory/calls.h"

namespace plumb::memory {
namespace {

struct Module {
  explicit Module(uint16_t id, size_t slots) : functions(slots, 0) {
    segment = {1, slots, functions.data()};
    info.moduleId = id;
    info.segmentsCount = 1;
    info.segments = &segment;
  }
  std::vector<intptr_t> functions;
  nvtxExtModuleSegment_t segment{};
  nvtxExtModuleInfo_t info{};
};

TEST(AttachMemoryExtension, FillsTheSlotsThatExist) {
  Module whole(NVTX_EXT_MODULEID_MEM, 63);
  EXPECT_TRUE(attachMemoryExtension(&whole.info));
  EXPECT_NE(whole.functions[NVTX3EXT_CBID_nvtxMemRegionsName], 0);
  EXPECT_EQ(whole.functions[NVTX3EXT_CBID_nvtxMemPermissionsBind], 0) << "permissions are not ours";
  Module older(NVTX_EXT_MODULEID_MEM, 4);
  EXPECT_TRUE(attachMemoryExtension(&older.info));
  EXPECT_NE(older.functions[NVTX3EXT_CBID_nvtxMemRegionsRegister], 0);
}

TEST(AttachMemoryExtension, LeavesOtherModulesAlone) {
  Module payload(2, 63);
  EXPECT_FALSE(attachMemoryExtension(&payload.info));
  EXPECT_EQ(payload.functions[0], 0);
  EXPECT_FALSE(attachMemoryExtension(nullptr));
  nvtxExtModuleInfo_t empty{};
  empty.moduleId = NVTX_EXT_MODULEID_MEM;
  EXPECT_FALSE(attachMemoryExtension(&empty));
}

}  // namespace
}  // namespace plumb::memory
