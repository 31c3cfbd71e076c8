// SPDX-License-Identifier: Apache-2.0
// The schema's views as a connection makes them: when a statement names them. Making all of them takes longer than most
// reports.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plumb {

// Every word of SQL text outside of comments, in lower case: names however they are quoted, but keywords and the words
// of literals too. Whoever looks for a name among them misses none.
void forEachWord(std::string_view sql, const std::function<void(std::string_view word)>& take);

// What a connection lacks of the schema's views. Not thread-safe.
class SchemaViews {
 public:
  SchemaViews();
  // A table that is no part of the file: a statement that names it reads what `sql` names.
  void addTable(std::string_view name, std::string sql);
  // A script that makes the views which the statement may read, by itself, through other views or through added tables.
  // A view is given out once; "" when there is nothing to make.
  [[nodiscard]] std::string scriptFor(std::string_view statement);
  // Likewise for all.
  [[nodiscard]] std::string scriptForAll();

 private:
  void visit(std::string_view sql, std::string& script);
  void make(size_t view, std::string& script);

  std::vector<bool> m_isMade;                             // by view
  std::unordered_map<std::string, std::string> m_tables;  // name: what it reads; without those that were named before
};

}  // namespace plumb
