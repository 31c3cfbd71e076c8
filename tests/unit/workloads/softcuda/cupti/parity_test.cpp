// SPDX-License-Identifier: Apache-2.0
// The software device's libcupti.so.13 and NVIDIA's must give the same answers wherever no driver is needed.
#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace {

struct Library {
  const char* name;
  const char* directory;
};

class Parity : public testing::TestWithParam<Library> {
 protected:
  void SetUp() override {
    const std::string path = std::string(GetParam().directory) + "/libcupti.so.13";
    m_library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!m_library) GTEST_SKIP() << path << " is not here";
  }
  template <class Function>
  Function* find(const char* name) {
    auto* function = reinterpret_cast<Function*>(dlsym(m_library, name));
    EXPECT_NE(function, nullptr) << name;
    return function;
  }

 private:
  void* m_library = nullptr;
};

// GetNextRecord tells a record's size: where it finds the next one.
std::size_t sizeOfRecord(decltype(&cuptiActivityGetNextRecord) next, uint32_t kind) {
  alignas(8) static uint8_t buffer[4096];
  for (std::size_t at = 8; at < 1024; at += 8) {
    std::fill(std::begin(buffer), std::end(buffer), uint8_t{0});
    auto* first = reinterpret_cast<CUpti_Activity*>(buffer);
    first->kind = static_cast<CUpti_ActivityKind>(kind);
    auto* second = reinterpret_cast<CUpti_Activity*>(buffer + at);
    second->kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    CUpti_Activity* record = first;
    if (next(buffer, sizeof(buffer), &record) == CUPTI_SUCCESS && record == second) return at;
  }
  return 0;
}

TEST_P(Parity, RecordSizes) {
  auto* next = find<decltype(cuptiActivityGetNextRecord)>("cuptiActivityGetNextRecord");
  const std::map<uint32_t, std::size_t> expected = {
      {1, 96},   {2, 88},   {3, 216},  {4, 40},  {5, 40},  {8, 184}, {9, 32},   {10, 216}, {11, 32}, {12, 56},
      {13, 40},  {17, 56},  {18, 144}, {19, 40}, {20, 40}, {22, 96}, {25, 104}, {26, 32},  {27, 24}, {28, 24},
      {33, 152}, {34, 152}, {35, 120}, {36, 56}, {37, 24}, {38, 56}, {39, 24},  {40, 136}, {45, 80}, {46, 168},
      {47, 40},  {48, 40},  {49, 128}, {50, 80}, {51, 56}, {52, 72}, {53, 56},  {54, 64},  {55, 32}};
  for (uint32_t kind = 0; kind < 60; ++kind) {
    const auto found = expected.find(kind);
    EXPECT_EQ(sizeOfRecord(next, kind), found == expected.end() ? 0 : found->second) << "kind " << kind;
  }
}

TEST_P(Parity, EndAndBadRecords) {
  auto* next = find<decltype(cuptiActivityGetNextRecord)>("cuptiActivityGetNextRecord");
  alignas(8) uint8_t buffer[64] = {};
  reinterpret_cast<CUpti_Activity*>(buffer)->kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  CUpti_Activity* record = nullptr;
  EXPECT_EQ(next(buffer, 40, &record), CUPTI_SUCCESS);
  EXPECT_EQ(reinterpret_cast<uint8_t*>(record), buffer);
  EXPECT_EQ(next(buffer, 40, &record), CUPTI_ERROR_MAX_LIMIT_REACHED);
  reinterpret_cast<CUpti_Activity*>(buffer)->kind = CUPTI_ACTIVITY_KIND_EVENT;
  record = nullptr;
  EXPECT_EQ(next(buffer, 40, &record), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(next(nullptr, 40, &record), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_P(Parity, Version) {
  uint32_t version = 0;
  ASSERT_EQ(find<decltype(cuptiGetVersion)>("cuptiGetVersion")(&version), CUPTI_SUCCESS);
  EXPECT_EQ(version, 130001u);
}

TEST_P(Parity, CallbackNames) {
  auto* nameOf = find<decltype(cuptiGetCallbackName)>("cuptiGetCallbackName");
  const auto name = [&](CUpti_CallbackDomain domain, uint32_t id) {
    const char* text = nullptr;
    return nameOf(domain, id, &text) == CUPTI_SUCCESS ? std::string(text) : std::string("(none)");
  };
  EXPECT_EQ(name(CUPTI_CB_DOMAIN_RUNTIME_API, 211), "cudaLaunchKernel_v7000");
  EXPECT_EQ(name(CUPTI_CB_DOMAIN_RUNTIME_API, 505), "__cudaLaunchKernel_v13000");
  EXPECT_EQ(name(CUPTI_CB_DOMAIN_RUNTIME_API, 20), "cudaMalloc_v3020");
  EXPECT_EQ(name(CUPTI_CB_DOMAIN_RUNTIME_API, 0), "INVALID");
  EXPECT_EQ(name(CUPTI_CB_DOMAIN_RUNTIME_API, 1000), "(none)");
  EXPECT_EQ(name(CUPTI_CB_DOMAIN_DRIVER_API, 1), "cuInit");
  EXPECT_EQ(name(CUPTI_CB_DOMAIN_RESOURCE, 1), "(none)");
  EXPECT_EQ(nameOf(CUPTI_CB_DOMAIN_RUNTIME_API, 1, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_P(Parity, ResultStrings) {
  auto* textOf = find<decltype(cuptiGetResultString)>("cuptiGetResultString");
  const auto text = [&](int result) {
    const char* string = nullptr;
    textOf(static_cast<CUptiResult>(result), &string);
    return std::string(string ? string : "");
  };
  EXPECT_EQ(text(0), "CUPTI_SUCCESS");
  EXPECT_EQ(text(39), "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
  EXPECT_EQ(text(36), "<unknown>");
  EXPECT_EQ(text(999), "CUPTI_ERROR_UNKNOWN");
  EXPECT_EQ(textOf(CUPTI_SUCCESS, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_P(Parity, WithoutASubscriber) {
  EXPECT_EQ(find<decltype(cuptiEnableDomain)>("cuptiEnableDomain")(1, nullptr, CUPTI_CB_DOMAIN_RUNTIME_API),
            CUPTI_ERROR_INVALID_PARAMETER);
  std::size_t dropped = 1;
  EXPECT_EQ(
      find<decltype(cuptiActivityGetNumDroppedRecords)>("cuptiActivityGetNumDroppedRecords")(nullptr, 0, &dropped),
      CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 0u);
}

// Every name of every id, one library against the other.
TEST(ParityOfBoth, AllCallbackNamesAndResults) {
  void* ours = dlopen(SOFTCUDA_LIBRARY_DIR "/libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  void* real = dlopen(PLUMB_CUDA_LIB "/libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(ours) << dlerror();
  if (!real) GTEST_SKIP() << "NVIDIA's libcupti.so.13 is not here";
  ASSERT_NE(ours, real);
  using Name = decltype(&cuptiGetCallbackName);
  const auto nameA = reinterpret_cast<Name>(dlsym(ours, "cuptiGetCallbackName"));
  const auto nameB = reinterpret_cast<Name>(dlsym(real, "cuptiGetCallbackName"));
  for (const auto domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API}) {
    for (uint32_t id = 0; id < 1000; ++id) {
      const char* a = nullptr;
      const char* b = nullptr;
      EXPECT_EQ(nameA(domain, id, &a), nameB(domain, id, &b)) << id;
      EXPECT_STREQ(a, b) << id;
    }
  }
  for (const char* function : {"cuptiGetResultString", "cuptiGetErrorMessage"}) {
    using Text = decltype(&cuptiGetResultString);
    const auto textA = reinterpret_cast<Text>(dlsym(ours, function));
    const auto textB = reinterpret_cast<Text>(dlsym(real, function));
    for (int result = 0; result < 1000; ++result) {
      const char* a = nullptr;
      const char* b = nullptr;
      EXPECT_EQ(textA(static_cast<CUptiResult>(result), &a), textB(static_cast<CUptiResult>(result), &b)) << result;
      EXPECT_STREQ(a, b) << result;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Parity,
                         testing::Values(Library{"software", SOFTCUDA_LIBRARY_DIR}, Library{"NVIDIA", PLUMB_CUDA_LIB}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
