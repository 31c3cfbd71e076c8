// SPDX-License-Identifier: Apache-2.0
// A program finds every function that CUDA's headers declare in the software device's libraries: what is not
// implemented fails when it is called, not when the program is loaded.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace {

using Names = std::set<std::string>;

struct Library {
  std::string file;
  std::string headers;   // a pattern of file names
  std::string function;  // a pattern of names
  size_t atLeast;
  // A function that is only named: what it returns, and how.
  std::string unsupported;
  int result;
};

void PrintTo(const Library& library, std::ostream* out) { *out << library.file; }

// The text without comments, preprocessor lines, and bodies of inline functions.
std::string declarationsOf(const std::filesystem::path& header) {
  std::ifstream file(header);
  std::string text((std::istreambuf_iterator<char>(file)), {}), kept;
  for (size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "/*") == 0) {
      at = text.find("*/", at) + 2;
    } else if (text.compare(at, 2, "//") == 0) {
      at = text.find('\n', at);
    } else {
      kept += text[at++];
    }
  }
  std::istringstream lines(kept);
  std::string declarations;
  bool directive = false;
  for (std::string line; std::getline(lines, line);) {
    if (!directive && line.rfind('#', 0) == 0) directive = true;
    if (!directive) declarations += line + '\n';
    directive = directive && !line.empty() && line.back() == '\\';
  }
  return declarations;
}

Names declared(const Library& library) {
  const std::regex header(library.headers);
  const std::regex function("\\b(" + library.function + ")\\s*\\([^;{]*\\)\\s*;");
  Names names;
  for (const auto& entry : std::filesystem::directory_iterator(PLUMB_CUDA_INCLUDE)) {
    if (!std::regex_match(entry.path().filename().string(), header)) continue;
    const std::string text = declarationsOf(entry.path());
    for (std::sregex_iterator found(text.begin(), text.end(), function), end; found != end; ++found)
      names.insert((*found)[1]);
  }
  return names;
}

class Declarations : public testing::TestWithParam<Library> {
 protected:
  void SetUp() override {
    m_library = dlopen((SOFTCUDA_LIBRARY_DIR "/" + GetParam().file).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(m_library, nullptr) << dlerror();
  }
  void* m_library = nullptr;
};

TEST_P(Declarations, AreAllDefined) {
  const Names names = declared(GetParam());
  EXPECT_GE(names.size(), GetParam().atLeast);
  Names missing;
  for (const std::string& name : names) {
    if (!dlsym(m_library, name.c_str())) missing.insert(name);
  }
  EXPECT_THAT(missing, testing::IsEmpty());
}

TEST_P(Declarations, ThatAreNotImplementedNameThemselvesOnce) {
  const auto call = reinterpret_cast<int (*)(const void*, const void*, const void*)>(
      dlsym(m_library, GetParam().unsupported.c_str()));
  ASSERT_NE(call, nullptr);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call(nullptr, nullptr, nullptr), GetParam().result);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "softcuda: " + GetParam().unsupported + ": called; the software device does not implement it\n");
}

INSTANTIATE_TEST_SUITE_P(
    Libraries, Declarations,
    testing::Values(
        // Checkpoints and the utilities of PC sampling are libraries of their own.
        Library{"libcupti.so.13", "cupti_(?!checkpoint|pcsampling_util).*\\.h", "cupti[A-Z]\\w*", 160,
                "cuptiProfilerInitialize", 27},
        Library{"libnccl.so.2", "nccl\\.h", "p?nccl[A-Z]\\w*", 80, "ncclDevCommCreate", 5},
        Library{"libcublas.so.13", "cublas(_api|_v2|Xt)?\\.h", "cublas(?!Migrate)[A-Z]\\w*", 700, "cublasXtCreate", 15},
        Library{"libcublasLt.so.13", "cublasLt\\.h", "cublasLt[A-Z]\\w*", 40, "cublasLtHeuristicsCacheSetCapacity",
                15}),
    [](const auto& instance) { return std::regex_replace(instance.param.file, std::regex("\\W"), "_"); });

// NVIDIA's libraries export more than their headers declare; of what is declared nothing may be missing here.
TEST_P(Declarations, ThatNvidiasLibraryExportsAreDefined) {
  const std::string real = PLUMB_CUDA_LIB "/" + GetParam().file;
  if (!std::filesystem::exists(real)) GTEST_SKIP() << "NVIDIA's " << GetParam().file << " is not here";
  FILE* symbols = popen(("nm -D --defined-only '" + real + "'").c_str(), "r");
  ASSERT_NE(symbols, nullptr);
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(PLUMB_CUDA_INCLUDE)) {
    if (std::regex_match(entry.path().filename().string(), std::regex(GetParam().headers)))
      text += declarationsOf(entry.path());
  }
  Names words, missing;
  const std::regex word("\\w+");
  for (std::sregex_iterator found(text.begin(), text.end(), word), end; found != end; ++found)
    words.insert(found->str());
  char name[256], type = ' ';
  int functions = 0;
  while (fscanf(symbols, "%*s %c %255s", &type, name) == 2) {
    const std::string symbol(name, strcspn(name, "@"));
    if ((type != 'T' && type != 'W') || words.count(symbol) == 0) continue;
    ++functions;
    if (!dlsym(m_library, symbol.c_str())) missing.insert(symbol);
  }
  pclose(symbols);
  EXPECT_GT(functions, 30);
  EXPECT_THAT(missing, testing::IsEmpty());
}

}  // namespace
