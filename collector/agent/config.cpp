// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/config.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "collector/agent/text_buffer.h"
#include "collector/api/time.h"
#include "collector/transport/protocol.h"

namespace plumb::agent {
namespace {

constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";
constexpr const char* kCudaInjection = "CUDA_INJECTION64_PATH";
constexpr const char* kNcclProfiler = "NCCL_PROFILER_PLUGIN";
constexpr const char* kRootPid = "PLUMB_ROOT_PID";
constexpr const char* kRootOutput = "PLUMB_ROOT_OUTPUT";

// Recorded by name. An entry that ends with '*' names a prefix. Nothing here may hold a secret.
constexpr std::string_view kVariables[] = {
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NTASKS",
    "SLURM_JOB_ID",
    "SLURM_NODEID",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "TORCH_NCCL_*",
    "NCCL_*",
};

constinit Startup s_startup{};

struct Assignment {
  const char* name;
  std::string_view value;
};

// Replaces environ by a copy with the assignments added. Not by setenv: before main it may be the program's own (bash
// defines one that works on tables which do not exist yet), and it would use the heap.
void extendEnvironment(const Assignment* assignments, size_t count) noexcept {
  size_t old = 0;
  while (environ != nullptr && environ[old] != nullptr) {
    ++old;
  }
  size_t bytes = (old + count + 1) * sizeof(char*);
  for (size_t i = 0; i < count; ++i) {
    bytes += std::strlen(assignments[i].name) + assignments[i].value.size() + 2;
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return;
  }
  auto** pointers = static_cast<char**>(memory);
  char* text = reinterpret_cast<char*>(pointers + old + count + 1);
  size_t used = 0;
  for (size_t i = 0; i < old; ++i) {
    bool replaced = false;
    for (size_t j = 0; j < count; ++j) {
      const size_t length = std::strlen(assignments[j].name);
      replaced = replaced || (std::strncmp(environ[i], assignments[j].name, length) == 0 && environ[i][length] == '=');
    }
    if (!replaced) {
      pointers[used++] = environ[i];
    }
  }
  for (size_t i = 0; i < count; ++i) {
    pointers[used++] = text;
    text = stpcpy(stpcpy(text, assignments[i].name), "=");
    std::memcpy(text, assignments[i].value.data(), assignments[i].value.size());
    text += assignments[i].value.size() + 1;  // the page is zero
  }
  environ = pointers;
}

// Not getenv, for the reason given above.
std::string_view environmentText(std::string_view name) noexcept {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view entry{*variable};
    if (entry.size() > name.size() && entry[name.size()] == '=' && head(entry, name.size()) == name) {
      return tail(entry, name.size() + 1);
    }
  }
  return {};
}

int32_t environmentNumber(const char* const* names, int32_t fallback) noexcept {
  for (; *names != nullptr; ++names) {
    const std::string_view value = environmentText(*names);
    if (value.empty()) {
      continue;
    }
    char* end = nullptr;
    const long number = strtol(value.data(), &end, 10);  // an entry of environ ends with zero
    if (*end == '\0' && number >= 0 && number <= INT32_MAX) {
      return static_cast<int32_t>(number);
    }
  }
  return fallback;
}

std::string_view baseName(std::string_view path) noexcept {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : tail(path, slash + 1);
}

bool preloadNamesUs(std::string_view preload) noexcept {
  const std::string_view name = baseName(s_startup.library);
  for (size_t at = preload.find(name); at != std::string_view::npos; at = preload.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool starts = at == 0 || preload[at - 1] == '/' || preload[at - 1] == ':' || preload[at - 1] == ' ';
    if (starts && (end == preload.size() || preload[end] == ':' || preload[end] == ' ')) {
      return true;
    }
  }
  return false;
}

uint64_t hashOf(std::string_view text) noexcept {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

// Short, so that the socket's address has room for it. A shared one is found by others with the same parent and output.
void nameSession(bool shared) noexcept {
  constexpr size_t kLongestFolder = 60;
  std::string_view folder = environmentText("TMPDIR");
  if (folder.empty() || folder.front() != '/' || folder.size() > kLongestFolder) {
    folder = "/tmp";
  }
  TextBuffer name(s_startup.sessionDirectory);
  if (shared) {
    name.add(folder).add("/plumb-").addNumber(geteuid()).add("-").addNumber(static_cast<uint64_t>(getppid())).add("-");
    name.addNumber(hashOf(s_startup.output), 16);
    return;
  }
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
    random = static_cast<uint64_t>(monotonicNowNs());
  }
  name.add(folder).add("/plumb-").addNumber(static_cast<uint64_t>(getpid())).add("-").addNumber(random, 16);
}

void nameOutputIn(std::string_view folder) noexcept {
  char program[64];
  size_t length = 0;
  for (const char c : baseName(program_invocation_short_name)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                       c == '_' || c == '+' || c == '-';
    if (length < sizeof program) {
      program[length++] = plain ? c : '_';
    }
  }
  TextBuffer output(s_startup.output);
  output.add(folder).add("/plumb-").add({program, length}).add("-").addNumber(static_cast<uint64_t>(getpid()));
  output.add(".sqlite");
}

void nameOutput() noexcept {
  char folder[PATH_MAX];
  if (getcwd(folder, sizeof folder) == nullptr) {
    TextBuffer(folder).add("/tmp");
  }
  const std::string_view wanted = environmentText(transport::kOutputVariable);
  if (wanted.empty()) {
    nameOutputIn(folder);
  } else if (wanted.front() == '/') {
    TextBuffer(s_startup.output).add(wanted);
  } else {
    TextBuffer(s_startup.output).add(folder).add("/").add(wanted);
  }
}

// Whether the file at `output`, plumb-<program>-<pid>.sqlite, bears the name of a program that only starts others.
bool isNamedAfterWrapper(std::string_view output) noexcept {
  constexpr std::string_view kStart = "plumb-";
  const std::string_view file = baseName(output);
  const size_t end = file.rfind('-');
  if (end == std::string_view::npos || end <= kStart.size() || file.substr(0, kStart.size()) != kStart) {
    return false;
  }
  const std::string_view program = tail(head(file, end), kStart.size());
  static constexpr std::string_view kWrappers[] = {"bash",   "sh",      "dash",    "zsh",     "env",     "timeout",
                                                   "time",   "nice",    "ionice",  "chrt",    "taskset", "numactl",
                                                   "sudo",   "nohup",   "setsid",  "stdbuf",  "xargs",   "make",
                                                   "mpirun", "mpiexec", "orterun", "prterun", "srun",    "watch"};
  for (const std::string_view wrapper : kWrappers) {
    if (program == wrapper) {
      return true;
    }
  }
  return false;
}

// The session that the environment names, or a new one of which this process is the root.
void joinOrNameSession() noexcept {
  const std::string_view directory = environmentText(transport::kSessionVariable);
  if (directory.empty()) {
    s_startup.rootPid = getpid();
    nameOutput();
    // Preloaded processes hand their session on. The ranks that an injection variable alone brings us into know nothing
    // of each other, but are told the same file and have been started by the same process.
    const bool isPreloaded = preloadNamesUs(environmentText("LD_PRELOAD"));
    nameSession(!isPreloaded && !environmentText(transport::kOutputVariable).empty());
    return;
  }
  TextBuffer(s_startup.sessionDirectory).add(directory);
  static constexpr const char* names[] = {kRootPid, nullptr};
  s_startup.rootPid = environmentNumber(names, 0);
  if (s_startup.rootPid == 0) {
    return;
  }
  const std::string_view output = environmentText(kRootOutput);
  TextBuffer(s_startup.output).add(output);
  const size_t slash = output.rfind('/');
  if (slash != std::string_view::npos && environmentText(transport::kOutputVariable).empty() &&
      (s_startup.rootPid == getpid() || isNamedAfterWrapper(output))) {
    // The root replaced itself by another program (a shell script that ends with exec), or started one: the program
    // that records first is the one to name.
    nameOutputIn(head(output, slash));
  }
}

// True: name is ours to set, or is set to us already.
bool claim(const char* name, Assignment* assignments, size_t& count) noexcept {
  const std::string_view current = environmentText(name);
  if (current.empty()) {
    assignments[count++] = {name, s_startup.library};
    return true;
  }
  return current == s_startup.library || baseName(current) == baseName(s_startup.library);
}

}  // namespace

void loadStartup() noexcept {
  Dl_info self{};
  if (dladdr(&s_startup, &self) == 0 || self.dli_fname == nullptr) {
    s_startup.off = true;
    return;
  }
  if (self.dli_fname[0] == '/') {
    TextBuffer(s_startup.library).add(self.dli_fname);
  } else if (realpath(self.dli_fname, s_startup.library) == nullptr) {
    s_startup.off = true;
    return;
  }
  s_startup.off = !environmentText("PLUMB_OFF").empty();
  joinOrNameSession();
  Assignment assignments[8];
  size_t count = 0;
  // Others change the environment only where nothing can be reading it yet.
  const bool preloaded = preloadNamesUs(environmentText("LD_PRELOAD"));
  Assignment ignored[8];
  size_t ignoredCount = 0;
  Assignment* target = preloaded && !s_startup.off ? assignments : ignored;
  size_t& targetCount = target == assignments ? count : ignoredCount;
  s_startup.foreignNvtxInjection = !claim(kNvtxInjection, target, targetCount);
  s_startup.foreignCudaInjection = !claim(kCudaInjection, target, targetCount);
  s_startup.cudaInjectionOurs =
      !s_startup.foreignCudaInjection && (target == assignments || !environmentText(kCudaInjection).empty());
  s_startup.foreignNcclProfiler = !claim(kNcclProfiler, target, targetCount);
  char rootPid[24];
  if (target == assignments && s_startup.rootPid == getpid()) {
    TextBuffer root(rootPid);
    root.addNumber(static_cast<uint64_t>(s_startup.rootPid));
    assignments[count++] = {transport::kSessionVariable, s_startup.sessionDirectory};
    assignments[count++] = {kRootPid, root.view()};
    assignments[count++] = {kRootOutput, s_startup.output};
  }
  if (count != 0) {
    extendEnvironment(assignments, count);
  }
}

const Startup& startup() noexcept { return s_startup; }

namespace {

struct Settings {
  char bytes[8192];
  size_t used = 0;
};
constinit Settings s_settings{};

}  // namespace

void loadSettings() noexcept {
  s_settings.used = 0;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const size_t bytes = std::strlen(*variable) + 1;
    if (std::strncmp(*variable, "PLUMB_", 6) == 0 && s_settings.used + bytes <= sizeof s_settings.bytes) {
      std::memcpy(s_settings.bytes + s_settings.used, *variable, bytes);
      s_settings.used += bytes;
    }
  }
}

const char* setting(const char* name) noexcept {
  char variable[80];
  TextBuffer wanted(variable);
  wanted.add("PLUMB_");
  for (; *name != '\0'; ++name) {
    const char upper = *name >= 'a' && *name <= 'z' ? static_cast<char>(*name - 'a' + 'A') : *name;
    const bool plain = (upper >= 'A' && upper <= 'Z') || (upper >= '0' && upper <= '9');
    const char c = plain ? upper : '_';
    wanted.add({&c, 1});
  }
  wanted.add("=");
  for (size_t at = 0; at < s_settings.used;) {
    const char* entry = s_settings.bytes + at;
    if (std::strncmp(entry, variable, wanted.view().size()) == 0) {
      return entry + wanted.view().size();
    }
    at += std::strlen(entry) + 1;
  }
  return nullptr;
}

int64_t integerSetting(const char* name, int64_t fallback) noexcept {
  const char* value = setting(name);
  if (value == nullptr || *value == '\0') {
    return fallback;
  }
  char* end = nullptr;
  const long long number = strtoll(value, &end, 10);
  return *end == '\0' && number >= 0 ? number : fallback;
}

transport::SegmentLayout segmentLayout() noexcept {
  const transport::SegmentLayout standard;
  const transport::SegmentLayout wanted{
      .ringCount = static_cast<uint32_t>(integerSetting("ring_count", standard.ringCount)),
      .ringBytes = static_cast<uint64_t>(integerSetting("ring_bytes", static_cast<int64_t>(standard.ringBytes)))};
  return wanted.valid() ? wanted : standard;
}

bool pluginWanted(std::string_view name) noexcept {
  const char* value = setting("plugins");
  std::string_view list = value == nullptr ? std::string_view{} : value;
  bool onlyExclusions = true;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view entry = head(list, comma);
    list = comma == std::string_view::npos ? std::string_view{} : tail(list, comma + 1);
    const bool excludes = !entry.empty() && entry.front() == '-';
    if (excludes) {
      entry.remove_prefix(1);
    }
    if (entry == name) {
      return !excludes;
    }
    onlyExclusions = onlyExclusions && (excludes || entry.empty());
  }
  return onlyExclusions;
}

RankFacts rankFacts() noexcept {
  static constexpr const char* kRank[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", nullptr};
  static constexpr const char* kLocalRank[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", nullptr};
  static constexpr const char* kWorldSize[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", nullptr};
  return {environmentNumber(kRank, transport::kUnknownRank), environmentNumber(kLocalRank, transport::kUnknownRank),
          environmentNumber(kWorldSize, transport::kUnknownRank)};
}

void forEachRecordedVariable(void (*visit)(void* context, std::string_view name, std::string_view value),
                             void* context) noexcept {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view entry{*variable};
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      continue;
    }
    const std::string_view name = head(entry, equals);
    for (const std::string_view listed : kVariables) {
      const bool prefix = listed.back() == '*';
      if (prefix ? head(name, listed.size() - 1) == head(listed, listed.size() - 1) : name == listed) {
        if (name != kNcclProfiler) {
          visit(context, name, tail(entry, equals + 1));
        }
        break;
      }
    }
  }
}

bool besideLibrary(const char* relative, char* buffer, size_t bufferBytes) noexcept {
  const std::string_view library{s_startup.library};
  const size_t slash = library.rfind('/');
  if (slash == std::string_view::npos) {
    return false;
  }
  return TextBuffer(buffer, bufferBytes).add(head(library, slash + 1)).add(relative).ok();
}

char** recorderEnvironment() noexcept {
  static constexpr std::string_view kPassedOn[] = {
      "PATH=",   "HOME=", "XDG_CACHE_HOME=", "TMPDIR=",       "LANG=",
      "LC_ALL=", "TZ=",   "PLUMB_ROOFS=",    "ASAN_OPTIONS=", "TSAN_OPTIONS="};
  static char* s_passed[std::size(kPassedOn) + 1];
  size_t count = 0;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    for (const std::string_view name : kPassedOn) {
      if (std::strncmp(*variable, name.data(), name.size()) == 0 && count < std::size(kPassedOn)) {
        s_passed[count++] = *variable;
        break;
      }
    }
  }
  s_passed[count] = nullptr;
  return s_passed;
}

}  // namespace plumb::agent
