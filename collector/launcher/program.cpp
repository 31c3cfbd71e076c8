// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/program.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

namespace plumb::launcher {
namespace fs = std::filesystem;
namespace {

enum class Kind { kMissing, kDirectory, kNotExecutable, kProgram };

Kind kindOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return Kind::kMissing;
  }
  if (S_ISDIR(status.st_mode)) {
    return Kind::kDirectory;
  }
  return access(path.c_str(), X_OK) == 0 ? Kind::kProgram : Kind::kNotExecutable;
}

// Reads structs out of a file; every offset is checked.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : m_stream(path, std::ios::binary) {}

  template <class T>
  std::optional<T> at(uint64_t offset) {
    T value{};
    m_stream.clear();
    m_stream.seekg(static_cast<std::streamoff>(offset));
    if (!m_stream.read(reinterpret_cast<char*>(&value), sizeof value)) {
      return std::nullopt;
    }
    return value;
  }

  std::string textAt(uint64_t offset) {
    std::string text;
    m_stream.clear();
    m_stream.seekg(static_cast<std::streamoff>(offset));
    constexpr size_t kLongestName = 255;
    for (char c = 0; text.size() < kLongestName && m_stream.get(c) && c != '\0';) {
      text.push_back(c);
    }
    return text;
  }

 private:
  std::ifstream m_stream;
};

constexpr uint64_t kMostEntries = 4096;

// The sonames that the dynamic section asks for.
std::vector<std::string> neededLibraries(ElfFile& file, const std::vector<Elf64_Phdr>& segments) {
  std::vector<uint64_t> names;
  uint64_t stringTable = 0;
  for (const Elf64_Phdr& segment : segments) {
    for (uint64_t i = 0;
         segment.p_type == PT_DYNAMIC && i < std::min(segment.p_filesz / sizeof(Elf64_Dyn), kMostEntries); ++i) {
      const auto entry = file.at<Elf64_Dyn>(segment.p_offset + i * sizeof(Elf64_Dyn));
      if (!entry || entry->d_tag == DT_NULL) {
        break;
      }
      if (entry->d_tag == DT_NEEDED) {
        names.push_back(entry->d_un.d_val);
      } else if (entry->d_tag == DT_STRTAB) {
        stringTable = entry->d_un.d_ptr;
      }
    }
  }
  std::vector<std::string> libraries;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && stringTable >= segment.p_vaddr &&
        stringTable < segment.p_vaddr + segment.p_filesz) {
      for (const uint64_t name : names) {
        libraries.push_back(file.textAt(stringTable - segment.p_vaddr + segment.p_offset + name));
      }
      break;
    }
  }
  return libraries;
}

}  // namespace

Result<std::string> findProgram(const std::string& word) {
  const auto explain = [&word](Kind kind, const std::string& path) -> Result<std::string> {
    switch (kind) {
      case Kind::kProgram:
        return path;
      case Kind::kDirectory:
        return Error{fmt::format("Cannot run \"{}\": it is a directory. Name a program.", word)};
      case Kind::kNotExecutable:
        return Error{
            fmt::format("Cannot run \"{}\": it is not executable. Make it so with chmod +x, or name its "
                        "interpreter first (python3 {}).",
                        path, word)};
      case Kind::kMissing:
        break;
    }
    return Error{
        fmt::format("Cannot run \"{}\": there is no such program. Check the spelling, or give its path.", word)};
  };
  if (word.find('/') != std::string::npos) {
    return explain(kindOf(word), word);
  }
  const char* variable = std::getenv("PATH");
  std::string_view path = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  Kind best = Kind::kMissing;
  std::string bestPath;
  while (true) {
    const size_t colon = path.find(':');
    const std::string folder(path.substr(0, colon));
    std::string candidate = (folder.empty() ? std::string(".") : folder) + "/" + word;
    const Kind kind = word.empty() ? Kind::kMissing : kindOf(candidate);
    if (kind == Kind::kProgram) {
      return candidate;
    }
    if (kind == Kind::kNotExecutable && best == Kind::kMissing) {
      best = kind;
      bestPath = std::move(candidate);
    }
    if (colon == std::string_view::npos) {
      return explain(best, bestPath);
    }
    path.remove_prefix(colon + 1);
  }
}

ProgramFacts inspectProgram(const std::string& path) {
  ProgramFacts facts;
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    facts.isPrivileged = ((status.st_mode & (S_ISUID | S_ISGID)) != 0 && geteuid() != 0) ||
                         getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  }
  ElfFile file(path);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) {
    return facts;
  }
  std::vector<Elf64_Phdr> segments;
  bool interpreted = false;
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    if (const auto segment = file.at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr))) {
      segments.push_back(*segment);
      interpreted = interpreted || segment->p_type == PT_INTERP;
    }
  }
  facts.isElf = true;
  facts.isStatic = !interpreted;
  for (const std::string& library : neededLibraries(file, segments)) {
    if (library.starts_with("libasan.so") || library.starts_with("libclang_rt.asan")) {
      facts.addressSanitizer = library;
    }
  }
  return facts;
}

std::vector<std::string> limitsOf(const std::string& path, const ProgramFacts& facts) {
  std::vector<std::string> limits;
  if (facts.isStatic) {
    limits.push_back(
        fmt::format("{} is linked statically, so nothing can be preloaded into it: only what it starts is "
                    "recorded. Link it dynamically to record it.",
                    path));
  }
  if (facts.isPrivileged) {
    limits.push_back(
        fmt::format("{} runs with other privileges than yours (setuid, setgid or capabilities), so the system "
                    "preloads nothing into it: only what it starts may be recorded.",
                    path));
  }
  return limits;
}

}  // namespace plumb::launcher
