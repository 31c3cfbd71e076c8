// SPDX-License-Identifier: Apache-2.0
// SQLite behind two small types. The database is opened so that a file from a stranger can do no harm: read-only,
// defensive, none of its views, triggers or functions are run. Not thread-safe: one thread at a time per Database.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "analyzer/trace/ids.h"
#include "analyzer/trace/time.h"
#include "collector/schema/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace plumb {

struct ComputedTable;
struct ConnectionState;
struct QueryTable;
struct TableFunction;

enum class ValueType { Integer, Real, Text, Blob, Null };

// A prepared statement. Usage: while (s.next()) { … s.integer(0) … }  if (!s.status().ok()) return s.status().error();
class Statement {
 public:
  // Moves to the next row; false at the end and on an error (ask status()).
  [[nodiscard]] bool next();
  // The error that ended next(), if one did.
  [[nodiscard]] Status status() const;
  // Makes it ready to run again; bindings stay.
  void reset();

  void bind(int parameter, int64_t value);
  void bind(int parameter, double value);
  void bind(int parameter, std::string_view text);  // copied
  void bindNull(int parameter);
  // For SQL functions that take it by sqlite3_value_pointer(); both must live as long as the statement runs.
  void bindPointer(int parameter, void* pointer, const char* type);
  // 0 when the statement has no parameter of that name (":rank").
  [[nodiscard]] int parameterIndex(const char* name) const;
  // Parameters are numbered from 1. The name is without its ':', '@', '$' or '?'; "" for a plain '?'.
  [[nodiscard]] int parameterCount() const;
  [[nodiscard]] std::string_view parameterName(int parameter) const;

  [[nodiscard]] int columnCount() const;
  [[nodiscard]] std::string_view columnName(int column) const;

  // Values of the current row. Views are valid until next() or reset(). NULL reads as 0 and "".
  [[nodiscard]] ValueType type(int column) const;
  [[nodiscard]] int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] std::string_view blob(int column) const;
  [[nodiscard]] bool isNull(int column) const { return type(column) == ValueType::Null; }
  [[nodiscard]] std::optional<int64_t> optionalInteger(int column) const;
  template <class SomeId>
  [[nodiscard]] SomeId id(int column) const {
    return SomeId(integer(column));
  }
  [[nodiscard]] TimePoint time(int column) const { return TimePoint(integer(column)); }

 private:
  friend class Database;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, std::string file) : m_statement(statement), m_file(std::move(file)) {}

  std::unique_ptr<sqlite3_stmt, Finalizer> m_statement;
  std::string m_file;   // for messages
  std::string m_error;  // set by next()
};

// Whether SQLite sees the views in the file, of which none is run. Hidden: it opens sooner (viewless_vfs.h).
enum class FileViews : uint8_t { Seen, Hidden };

class Database {
 public:
  // Opens the file and checks that it is a trace of a schema this program reads. The message of the error is for the
  // user.
  [[nodiscard]] static Result<Database> open(const std::string& path, std::chrono::milliseconds busyTimeout,
                                             FileViews views = FileViews::Seen);
  // Opens another program's file as carefully, for an importer that knows what is in it. A file that is cut short, or
  // whose list of tables is damaged, opens too: what can be read is there, and isDamaged() says so.
  [[nodiscard]] static Result<Database> openForeign(const std::string& path, std::chrono::milliseconds busyTimeout);
  [[nodiscard]] bool isDamaged() const { return m_isDamaged; }

  // `sql` must be one statement that only reads. An error names the position in the text.
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  // The next statement of a script, from byte `at` on, which is moved behind it; none when nothing but blanks and
  // comments is left.
  [[nodiscard]] Result<std::optional<Statement>> prepareNext(std::string_view script, size_t& at);

  // A connection that somebody else has opened and will close, with what its main file is. Nothing of it is changed
  // and nothing is checked: ask prepareAttached().
  [[nodiscard]] static Database attach(sqlite3* handle);
  // Checks that the main file is a trace and shows the schema's views as temporary ones, which take the place of the
  // file's own. Once it has failed, the table functions fail with the same error.
  [[nodiscard]] Status prepareAttached();

  // Adds a table whose rows are computed when a statement first reads it (computed_table.h, query_table.h,
  // table_function.h).
  [[nodiscard]] Status addTable(ComputedTable table);
  [[nodiscard]] Status addTable(QueryTable table);
  [[nodiscard]] Status addTable(TableFunction function);
  [[nodiscard]] ConnectionState& state() { return *m_state; }
  // For adding SQL functions; everything else goes through the members above.
  [[nodiscard]] sqlite3* handle() const { return m_handle.get(); }

  // Starts and ends a transaction, inside which every statement sees the same state of a growing file. They nest.
  [[nodiscard]] Status beginSnapshot();
  void endSnapshot() noexcept;

  // Called now and then while statements run; an empty function ends it. It must not use the database.
  void whileReading(std::function<void()> callback);
  // For a reader that goes past SQLite: calls that function.
  void stillReading() const {
    if (m_whileReading) (*m_whileReading)();
  }

  // Stops a running statement with an error; the only member that another thread may call.
  void interrupt() noexcept;

  [[nodiscard]] const std::string& path() const { return m_path; }

 private:
  struct Closer {
    Closer() : isBorrowed(false) {}
    explicit Closer(bool borrowed) : isBorrowed(borrowed) {}
    bool isBorrowed;
    void operator()(sqlite3* handle) const;
  };
  Database(std::unique_ptr<sqlite3, Closer> handle, std::string path);
  [[nodiscard]] static Result<Database> connect(const std::string& path, std::chrono::milliseconds busyTimeout,
                                                FileViews views);
  [[nodiscard]] Status prepareForStrangers();
  [[nodiscard]] Status readTables();  // whether the list of tables can be read
  [[nodiscard]] Status checkKind();
  [[nodiscard]] bool isBlank();             // without any table
  [[nodiscard]] bool hasTablesAsWritten();  // by this version of the schema; false also where that cannot be read
  [[nodiscard]] Status checkTables();
  // The file is older than these tables: they are there, and empty.
  [[nodiscard]] Status addEmptyTables(Database& model, const std::set<std::string>& names);
  [[nodiscard]] Status createViews();
  [[nodiscard]] Status execute(const char* sql);
  [[nodiscard]] bool isBorrowed() const { return m_handle.get_deleter().isBorrowed; }
  void guard(bool isOn);  // lets statements do nothing but read
  [[nodiscard]] Error errorHere() const;

  std::shared_ptr<ConnectionState> m_state;
  std::unique_ptr<sqlite3, Closer> m_handle;
  std::string m_path;
  int m_snapshots = 0;                                    // that live: they nest
  std::unique_ptr<std::function<void()>> m_whileReading;  // its address is the callback's context
  bool m_isDamaged = false;
};

}  // namespace plumb
