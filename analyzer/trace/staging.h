// SPDX-License-Identifier: Apache-2.0
// Where an output is made before it has its name, so that nobody sees half of one: a file or folder beside its place,
// NAME.WORD-PID (a folder that is there already holds it, as .plumb-WORD-PID). It is removed when it does not get its
// name, with the journals that SQLite makes for it: on errors, on signals after removeStagingsWhenInterrupted(), and,
// when its process was killed, by the next process that makes one for the same place.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "collector/schema/result.h"

namespace plumb {

// An error that tells the user what to do, when `path` is taken and not to be replaced, or is no file that could be.
[[nodiscard]] Status checkPlace(const std::string& path, bool replace);
// The same when `path` is one of the files that are read to make it, by whatever name.
[[nodiscard]] Status checkNotRead(const std::string& path, const std::vector<std::string>& read);

class Staging {
 public:
  // An empty one. The errors are clauses that say what the system says.
  [[nodiscard]] static Result<Staging> file(const std::string& target, std::string_view word);
  [[nodiscard]] static Result<Staging> folder(const std::string& target, std::string_view word);
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  ~Staging();

  [[nodiscard]] const std::string& path() const noexcept { return m_path; }

  // Gives the file its name; a file of that name is replaced only when `replace`, with the log of a database.
  [[nodiscard]] Status publishFile(bool replace);
  // Gives the folder its name, or moves what is in it into the folder that has the name. `names`: the entries that this
  // kind of output can have; those that are there already are an error unless `replace`, and then none of the old ones
  // stays.
  [[nodiscard]] Status publishFolder(const std::vector<std::string>& names, bool replace);

 private:
  Staging(std::string target, std::string path, int lock);
  [[nodiscard]] static Result<Staging> create(const std::string& target, std::string_view word, bool isFolder);
  void forget() noexcept;

  std::string m_target, m_path;  // m_path is empty once there is nothing to remove
  int m_lock;                    // holds a flock on it, by which others see that its process lives
};

// Every one of the process, for when it ends at once: uses no memory of the heap and takes no lock.
void removeStagings() noexcept;

// From now on SIGINT, SIGTERM and SIGHUP remove every staging of the process before they end it.
void removeStagingsWhenInterrupted();

}  // namespace plumb
