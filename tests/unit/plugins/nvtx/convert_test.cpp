// SPDX-License-Identifier: Apache-2.0
#include "plugins/nvtx/convert.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/fakes/fake_host.h"

namespace plumb::nvtx {
namespace {

std::string utf8(const wchar_t* text, size_t room = 1024) {
  std::string out(room, '?');
  out.resize(encodeUtf8(text, out.data(), room));
  return out;
}

TEST(EncodeUtf8, EveryLength) {
  EXPECT_EQ(utf8(L"a"), "a");
  EXPECT_EQ(utf8(L"é"), "é");
  EXPECT_EQ(utf8(L"日"), "日");
  EXPECT_EQ(utf8(L"\x1F680"), "🚀");
  EXPECT_EQ(utf8(L""), "");
}

TEST(EncodeUtf8, CutsBetweenCharactersOnly) {
  EXPECT_EQ(utf8(L"aé", 2), "a");
  EXPECT_EQ(utf8(L"日日", 5), "日");
}

TEST(EncodeUtf8, ReplacesWhatIsNotACharacter) {
  const wchar_t text[] = {static_cast<wchar_t>(0xD800), static_cast<wchar_t>(0x7FFFFFFF), 0};
  EXPECT_EQ(utf8(text), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

nvtxEventAttributes_t withPayload(int32_t type) {
  nvtxEventAttributes_t attributes{};
  attributes.payloadType = type;
  return attributes;
}

TEST(ConvertPayload, EachType) {
  PayloadFieldRecord out;
  nvtxEventAttributes_t in = withPayload(NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
  in.payload.ullValue = 5;
  ASSERT_TRUE(convertPayload(in, 3, 9, out));
  EXPECT_EQ(out.name, 3u);
  EXPECT_EQ(out.header.tid, 9u);
  EXPECT_EQ(out.integer, 5);
  in = withPayload(NVTX_PAYLOAD_TYPE_INT32);
  in.payload.iValue = -5;
  ASSERT_TRUE(convertPayload(in, 3, 9, out));
  EXPECT_EQ(out.integer, -5);
  in = withPayload(NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
  in.payload.uiValue = 0xFFFFFFFF;
  ASSERT_TRUE(convertPayload(in, 3, 9, out));
  EXPECT_EQ(out.integer, 0xFFFFFFFF);
  in = withPayload(NVTX_PAYLOAD_TYPE_DOUBLE);
  in.payload.dValue = 0.25;
  ASSERT_TRUE(convertPayload(in, 3, 9, out));
  EXPECT_EQ(out.type, FieldType::kReal);
  EXPECT_EQ(out.real, 0.25);
  in = withPayload(NVTX_PAYLOAD_TYPE_FLOAT);
  in.payload.fValue = 0.5f;
  ASSERT_TRUE(convertPayload(in, 3, 9, out));
  EXPECT_EQ(out.real, 0.5);
}

TEST(ConvertPayload, UnknownTypesAreLeftOut) {
  PayloadFieldRecord out;
  EXPECT_FALSE(convertPayload(withPayload(NVTX_PAYLOAD_UNKNOWN), 3, 9, out));
  EXPECT_FALSE(convertPayload(withPayload(4711), 3, 9, out));
}

TEST(InternMessage, NullAndUnknownMessagesAreTheEmptyText) {
  test::FakeHost fake;
  const Host host(fake.raw());
  nvtxMessageValue_t message{};
  EXPECT_EQ(internMessage(host, NVTX_MESSAGE_TYPE_ASCII, message), 0u);
  EXPECT_EQ(internMessage(host, NVTX_MESSAGE_TYPE_UNICODE, message), 0u);
  EXPECT_EQ(internMessage(host, NVTX_MESSAGE_UNKNOWN, message), 0u);
  message.ascii = "x";
  EXPECT_EQ(internMessage(host, 4711, message), 0u);
}

}  // namespace
}  // namespace plumb::nvtx
