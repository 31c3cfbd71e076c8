// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/wording.h"

#include <gtest/gtest.h>

namespace plumb::import {
namespace {

TEST(Wording, AgreesWithTheNumber) {
  const char* message = "{0} [event|events] of {1} [is|are] left out; [it is|the first] at byte {2}.";
  EXPECT_EQ(worded(message, 1, "a.json", 7), "1 event of a.json is left out; it is at byte 7.");
  EXPECT_EQ(worded(message, 2, "a.json", 7), "2 events of a.json are left out; the first at byte 7.");
  EXPECT_EQ(agreeing("[no choice] a]b [x", 1), "[no choice] a]b [x");
}

}  // namespace
}  // namespace plumb::import
