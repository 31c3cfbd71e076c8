// SPDX-License-Identifier: Apache-2.0
// The schema's views as a connection makes them: when a statement names them. Making all of them takes longer than most
// reports.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/schema/result.h"

namespace plumb {

// Every word of SQL text outside of comments, in lower case: names however they are quoted, but keywords and the words
// of literals too. Whoever looks for a name among them misses none.
void forEachWord(std::string_view sql, const std::function<void(std::string_view word)>& take);

// Whether the schema has a view of that name; in lower case.
[[nodiscard]] bool isSchemaView(std::string_view name);
// Whether this is its text as SQLite keeps it.
[[nodiscard]] bool isAsTheSchemaHasIt(std::string_view name, std::string_view sql);

// What a connection lacks of the schema's views, and of the tables that are no part of a file. Not thread-safe.
class SchemaViews {
 public:
  SchemaViews();
  // A table that `add` adds when it is first named; a statement that names it reads what `sql` names. A name that is no
  // single word is taken as named at once.
  [[nodiscard]] Status addTable(std::string_view name, std::string sql, std::function<Status()> add);
  // Adds the tables that the statement may read, by itself, through views or through other tables, and gives a script
  // that makes the views. Each is made once; "" when there is nothing to make.
  [[nodiscard]] Result<std::string> scriptFor(std::string_view statement);
  // Likewise for all views.
  [[nodiscard]] Result<std::string> scriptForAll();
  // Views that were given out may not be there after all: the next script makes them again.
  void forget();

 private:
  struct Table {
    std::string sql;
    std::function<Status()> add;
  };
  void visit(std::string_view sql, std::string& script);
  void make(size_t view, std::string& script);
  void makeAll(std::string& script);
  [[nodiscard]] Result<std::string> finished(std::string script);

  std::vector<bool> m_isMade;                       // by view
  std::vector<size_t> m_forgotten;                  // views
  std::unordered_map<std::string, Table> m_tables;  // by name, those that were not named yet
  std::string m_alwaysRead;                         // SQL of those that count as named, until it was looked at
  Status m_failed = Unit{};                         // of adding a table
};

}  // namespace plumb
