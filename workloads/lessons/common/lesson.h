// SPDX-License-Identifier: Apache-2.0
// What every lesson shares: the command line, the choice of the device, a table, and the checks of its own numbers.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "workloads/nn/checks.h"
#include "workloads/nn/device_choice.h"

namespace plumb::lessons {

// Columns of texts, printed with aligned columns: the first left, the others right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : m_rows{std::move(header)} {}
  void add(std::vector<std::string> row) { m_rows.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> m_rows;
};

using nn::Checks;
using nn::TimeClaim;

// The command line's options beside --help and --device. Behind it is a parser that takes seconds to compile, once.
class OptionList {
 public:
  // A whole number from smallest to largest; --help shows the value that it has now as the default.
  virtual void integer(const char* name, int& value, int smallest, int largest, const char* description) = 0;
  // The same, with the default in the description, because it depends on the device.
  virtual void integerByDevice(const char* name, int& value, int smallest, int largest, const char* description) = 0;
  virtual void choice(const char* name, std::string& value, std::vector<std::string> allowed,
                      const char* description) = 0;

 protected:
  ~OptionList() = default;
};

struct Lesson {
  std::string name;                             // the program's
  std::string description;                      // for --help: what it shows
  std::function<void(OptionList&)> addOptions;  // may be empty
  std::function<void(Checks&)> body;            // throws nn::UsageError or nn::DeviceError
  // May be empty. Runs before anything of CUDA, with the program's arguments; a value ends the process with it as the
  // exit code.
  std::function<std::optional<int>(const nn::DeviceChoice&, std::vector<std::string>)> begin = {};
};

// Runs the lesson on the device that --device (auto, software, gpu) names. Exit codes: 0 all checks passed, 1 one
// failed or the device did, 2 the arguments make no sense.
int runLesson(int argc, char** argv, const Lesson& lesson);

// True in the process that runs on a GPU; only valid within Lesson::body.
bool onGpu();

}  // namespace plumb::lessons
