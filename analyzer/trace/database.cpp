// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "analyzer/trace/connection_state.h"
#include "analyzer/trace/file_kind.h"
#include "analyzer/trace/foreign_file.h"
#include "analyzer/trace/functions.h"
#include "analyzer/trace/hidden_names.h"
#include "analyzer/trace/schema_views.h"
#include "analyzer/trace/sql_text.h"
#include "analyzer/trace/sqlite_api.h"
#include "analyzer/trace/sqlite_errors.h"
#include "analyzer/trace/viewless_vfs.h"
#include "analyzer/trace/zstd_vfs.h"
#include "collector/schema/schema.h"

namespace plumb {
namespace {

struct Limit {
  int id;
  int value;
};
// Generous for real traces and queries, small enough that a hostile file or statement cannot take the machine.
constexpr Limit kLimits[] = {
    {SQLITE_LIMIT_LENGTH, 128 << 20}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},  {SQLITE_LIMIT_COLUMN, 500},
    {SQLITE_LIMIT_EXPR_DEPTH, 200},   {SQLITE_LIMIT_COMPOUND_SELECT, 100}, {SQLITE_LIMIT_VDBE_OP, 1 << 20},
    {SQLITE_LIMIT_FUNCTION_ARG, 32},  {SQLITE_LIMIT_ATTACHED, 0},          {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},  {SQLITE_LIMIT_WORKER_THREADS, 0}};

// Of all a statement can do, only reading is let through; the flags of the connection forbid the rest a second time.
int allowReading(void* state, int action, const char* first, const char* second, const char*, const char*) {
  static constexpr std::array<std::string_view, 12> kPragmas = {
      "application_id", "compile_options", "database_list", "foreign_key_list", "function_list", "index_info",
      "index_list",     "integrity_check", "quick_check",   "table_info",       "table_list",    "user_version"};
  if (static_cast<const ConnectionState*>(state)->isDeclaring) return SQLITE_OK;
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
    case SQLITE_TRANSACTION:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second && std::string_view(second) == "load_extension" ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
      return first && std::find(kPragmas.begin(), kPragmas.end(), first) != kPragmas.end() ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

std::string uriOf(const std::string& path, bool immutable) {
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::strchr("/._-", c);
    if (plain) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", byte);
    }
  }
  return uri + (immutable ? "?immutable=1" : "");
}

// Makes what the script's next statement may read, where that is put off until now.
Result<std::string> viewsOf(ConnectionState& state, std::string_view script, size_t at) {
  if (!state.views || at >= script.size()) return std::string();
  return state.views->scriptFor(script.substr(at, endOfStatement(script, at) - at));
}

}  // namespace

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

bool Statement::next() {
  const int result = sqlite3_step(m_statement.get());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) m_error = errorSentence(sqlite3_db_handle(m_statement.get()), m_file);
  return false;
}

Status Statement::status() const {
  if (!m_error.empty()) return Error{m_error};
  return Unit{};
}

void Statement::reset() {
  sqlite3_reset(m_statement.get());
  m_error.clear();
}

void Statement::bind(int parameter, int64_t value) { sqlite3_bind_int64(m_statement.get(), parameter, value); }
void Statement::bind(int parameter, double value) { sqlite3_bind_double(m_statement.get(), parameter, value); }
void Statement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(m_statement.get(), parameter, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}
void Statement::bindNull(int parameter) { sqlite3_bind_null(m_statement.get(), parameter); }
void Statement::bindPointer(int parameter, void* pointer, const char* type) {
  sqlite3_bind_pointer(m_statement.get(), parameter, pointer, type, nullptr);
}
int Statement::parameterIndex(const char* name) const { return sqlite3_bind_parameter_index(m_statement.get(), name); }

int Statement::parameterCount() const { return sqlite3_bind_parameter_count(m_statement.get()); }
std::string_view Statement::parameterName(int parameter) const {
  const char* name = sqlite3_bind_parameter_name(m_statement.get(), parameter);
  return name && *name ? name + 1 : "";
}

int Statement::columnCount() const { return sqlite3_column_count(m_statement.get()); }
std::string_view Statement::columnName(int column) const {
  const char* name = sqlite3_column_name(m_statement.get(), column);
  return name ? name : "";
}

ValueType Statement::type(int column) const {
  switch (sqlite3_column_type(m_statement.get(), column)) {
    case SQLITE_INTEGER:
      return ValueType::Integer;
    case SQLITE_FLOAT:
      return ValueType::Real;
    case SQLITE_TEXT:
      return ValueType::Text;
    case SQLITE_BLOB:
      return ValueType::Blob;
    default:
      return ValueType::Null;
  }
}
int64_t Statement::integer(int column) const { return sqlite3_column_int64(m_statement.get(), column); }
double Statement::real(int column) const { return sqlite3_column_double(m_statement.get(), column); }
std::string_view Statement::text(int column) const {
  const auto* text = sqlite3_column_text(m_statement.get(), column);
  const auto length = static_cast<size_t>(sqlite3_column_bytes(m_statement.get(), column));
  return text ? std::string_view(reinterpret_cast<const char*>(text), length) : std::string_view();
}
std::string_view Statement::blob(int column) const {
  const void* bytes = sqlite3_column_blob(m_statement.get(), column);
  const auto length = static_cast<size_t>(sqlite3_column_bytes(m_statement.get(), column));
  return bytes ? std::string_view(static_cast<const char*>(bytes), length) : std::string_view();
}
std::optional<int64_t> Statement::optionalInteger(int column) const {
  if (isNull(column)) return std::nullopt;
  return integer(column);
}

Database::Database(std::unique_ptr<sqlite3, Closer> handle, std::string path)
    : m_state(std::make_shared<ConnectionState>()), m_handle(std::move(handle)), m_path(std::move(path)) {}

void Database::Closer::operator()(sqlite3* handle) const {
  if (!isBorrowed) sqlite3_close_v2(handle);
}

Error Database::errorHere() const { return Error{errorSentence(m_handle.get(), m_path)}; }

Result<Database> Database::connect(const std::string& path, std::chrono::milliseconds busyTimeout, FileViews views) {
  auto kind = fileKindOf(path);
  if (!kind.ok()) return kind.error();
  const char* vfs = nullptr;  // SQLite's own
  if (kind.value() == FileKind::Compressed) {
    if (registerZstdVfs() != SQLITE_OK) return Error{fmt::format("SQLite cannot read {} compressed.", path)};
    vfs = kZstdVfs;
  } else if (views == FileViews::Hidden && registerViewlessVfs() == SQLITE_OK) {
    vfs = kViewlessVfs;
  }
  // A file in log mode needs its -shm file, which a reader creates if it must. Without a log beside it and with no
  // right to create files there, nobody is writing it either: then, and only then, the file is read as it stands.
  const bool immutable = kind.value() == FileKind::Log && !hasContent(path + "-wal") && !folderIsWritable(path);
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(uriOf(path, immutable).c_str(), &raw,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs);
  Database database(std::unique_ptr<sqlite3, Closer>(raw), path);
  if (opened != SQLITE_OK) return database.errorHere();
  sqlite3_busy_timeout(raw, static_cast<int>(busyTimeout.count()));
  if (const Status done = database.prepareForStrangers(); !done.ok()) return done.error();
  return database;
}

Result<Database> Database::open(const std::string& path, std::chrono::milliseconds busyTimeout, FileViews views) {
  auto connected = connect(path, busyTimeout, views);
  if (!connected.ok()) return connected.error();
  Database database = std::move(connected).value();
  if (const Status begun = database.beginSnapshot(); !begun.ok())
    return begun.error();  // one lock for all that follows
  for (const auto step : {&Database::checkKind, &Database::checkTables}) {
    if (const Status done = (database.*step)(); !done.ok()) return done.error();
  }
  database.endSnapshot();
  database.m_state->views.emplace();
  sqlite3_rollback_hook(
      database.handle(), [](void* state) { static_cast<ConnectionState*>(state)->views->forget(); },
      database.m_state.get());
  database.guard(true);
  return database;
}

Result<Database> Database::openForeign(const std::string& path, std::chrono::milliseconds busyTimeout) {
  auto connected = connect(path, busyTimeout, FileViews::Seen);
  if (!connected.ok()) return connected.error();
  Database database = std::move(connected).value();
  if (!database.readTables().ok()) {
    // SQLite reads a file that is shorter than it says, and ignores tables that it cannot understand, only in the mode
    // that is meant for repairs. It is incompatible with the defensive one; nothing is written either way, as the file
    // is open for reading only and the guard lets nothing else through.
    int now = 0;
    sqlite3_db_config(database.m_handle.get(), SQLITE_DBCONFIG_DEFENSIVE, 0, &now);
    if (Status set = database.execute("PRAGMA writable_schema=ON"); !set.ok()) return set.error();
    database.m_isDamaged = true;
    if (Status read = database.readTables(); !read.ok()) return read.error();
  }
  database.guard(true);
  return database;
}

Database Database::attach(sqlite3* handle) {
  const char* path = sqlite3_db_filename(handle, "main");
  return Database(std::unique_ptr<sqlite3, Closer>(handle, Closer(true)), path ? path : "");
}

Status Database::prepareAttached() {
  Status done = Unit{};
  if (m_path.empty()) done = Error{"The connection has no file open as main: open a Plumbline file, then load this."};
  m_state->isCheckingNames = true;  // these ask for what the file has
  for (const auto step : {&Database::checkKind, &Database::checkTables, &Database::createViews}) {
    if (done.ok()) done = (this->*step)();
  }
  m_state->isCheckingNames = false;
  if (!done.ok()) m_state->unusable = done.error().message;
  return done;
}

Status Database::readTables() {
  // With the pragma, because SQLite sets it up on first use, which the guard would not let through.
  auto tables = prepare(
      "SELECT count(*), (SELECT count(*) FROM pragma_table_info('sqlite_schema'))"
      " FROM main.sqlite_schema");
  if (!tables.ok()) return tables.error();
  while (tables.value().next()) {
  }
  return tables.value().status();
}

Status Database::prepareForStrangers() {
  sqlite3* handle = m_handle.get();
  for (const auto& [option, value] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                      {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                      {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                      {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                      {SQLITE_DBCONFIG_DQS_DML, 0},
                                      {SQLITE_DBCONFIG_DQS_DDL, 0}}) {
    int now = 0;
    if (sqlite3_db_config(handle, option, value, &now) != SQLITE_OK || now != value) {
      return Error{fmt::format("This SQLite ({}) cannot open a file from a stranger safely (option {}).",
                               sqlite3_libversion(), option)};
    }
  }
  for (const Limit& limit : kLimits) sqlite3_limit(handle, limit.id, limit.value);
  if (registerFunctions(handle) != SQLITE_OK) return errorHere();
  // SQLite's own table functions declare their columns when a statement first names them, which the guard would take
  // for the making of a table. Run, the list of tables would look at every view of the file.
  for (const char* use : {"SELECT 1 FROM json_each('[]')", "SELECT 1 FROM json_tree('[]')",
                          "SELECT 1 FROM pragma_table_info('')", "SELECT 1 FROM pragma_table_list('')"}) {
    sqlite3_stmt* named = nullptr;
    (void)sqlite3_prepare_v2(handle, use, -1, &named, nullptr);
    sqlite3_finalize(named);
  }
  // A mapped file that another program cuts short would end us with SIGBUS.
  if (Status set = execute("PRAGMA mmap_size=0"); !set.ok()) return set;
  return execute("PRAGMA cell_size_check=ON");
}

bool Database::isBlank() {
  auto tables = prepare("SELECT 1 FROM main.sqlite_schema LIMIT 1");
  return tables.ok() && !tables.value().next() && tables.value().status().ok();
}

Status Database::checkKind() {
  int64_t numbers[2] = {};
  const char* pragmas[2] = {"PRAGMA main.application_id", "PRAGMA main.user_version"};
  for (int i = 0; i < 2; ++i) {
    auto statement = prepare(pragmas[i]);
    if (!statement.ok()) return statement.error();
    if (!statement.value().next()) {
      const Status status = statement.value().status();
      return status.ok() ? Status(errorHere()) : status;
    }
    numbers[i] = statement.value().integer(0);
  }
  if ((numbers[0] == 0 || numbers[0] == schema::kApplicationId) && isBlank()) {
    return Error{
        fmt::format("{} holds nothing yet: its recording has just begun, or it was copied without its log {}-wal.",
                    m_path, m_path)};
  }
  if (numbers[0] != schema::kApplicationId) {
    return Error{fmt::format("{} is not a Plumbline file: it is an SQLite database of another program.{}", m_path,
                             kImportFirst)};
  }
  if (numbers[1] > schema::kVersion) {
    return Error{
        fmt::format("{} was written by a newer Plumbline (schema {}, this program reads {}): update Plumbline.", m_path,
                    numbers[1], schema::kVersion)};
  }
  if (numbers[1] < schema::kVersion) {
    return Error{
        fmt::format("{} was written by an older Plumbline (schema {}, this program reads {}): record it again.", m_path,
                    numbers[1], schema::kVersion)};
  }
  return Unit{};
}

bool Database::hasTablesAsWritten() {
  auto cookie = prepare("PRAGMA main.schema_version");  // first, so that a change in between is noticed later
  if (!cookie.ok() || !cookie.value().next()) return false;
  auto rows = prepare("SELECT name, sql, rootpage FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0");
  if (!rows.ok()) return false;
  std::map<std::string, std::string, std::less<>> texts;
  std::vector<TablePages::Root> roots;
  while (rows.value().next()) {
    texts.emplace(rows.value().text(0), rows.value().text(1));
    roots.push_back({std::string(rows.value().text(0)), static_cast<uint32_t>(rows.value().integer(2))});
  }
  if (!rows.value().status().ok()) return false;
  constexpr std::string_view kCreate = "\nCREATE TABLE ";
  const std::string_view schema = schema::tablesSql();
  for (size_t at = schema.find(kCreate); at != std::string_view::npos; at = schema.find(kCreate, at + 1)) {
    const std::string_view expected = schema.substr(at + 1);
    const std::string_view name = expected.substr(kCreate.size() - 1);
    const auto mine = texts.find(name.substr(0, name.find(' ')));
    // SQLite keeps a statement as it was written, up to its semicolon.
    if (mine == texts.end() || !expected.starts_with(mine->second + ";")) return false;
  }
  m_state->pages.emplace(std::move(roots), static_cast<uint32_t>(cookie.value().integer(0)));
  return true;
}

Status Database::checkTables() {
  if (hasTablesAsWritten()) return Unit{};
  // The schema's own text says which tables and columns there must be. Views, virtual tables and generated columns in
  // their place could run code of the file's author; they count as missing.
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, nullptr);
  Database model(std::unique_ptr<sqlite3, Closer>(raw), m_path);
  if (opened != SQLITE_OK) return model.errorHere();
  if (Status made = model.execute(std::string(schema::tablesSql()).c_str()); !made.ok()) return made;

  std::set<std::pair<std::string, std::string>> present;
  const auto columns = [](Database& database, auto&& take) -> Status {
    auto rows = database.prepare(
        "SELECT s.name, c.name FROM main.sqlite_schema s, pragma_table_info(s.name, 'main') c"
        " WHERE s.type = 'table' AND s.rootpage > 0");
    if (!rows.ok()) return rows.error();
    while (rows.value().next()) take(std::string(rows.value().text(0)), std::string(rows.value().text(1)));
    return rows.value().status();
  };
  Status read = columns(
      *this, [&](std::string table, std::string column) { present.emplace(std::move(table), std::move(column)); });
  if (!read.ok()) return read;
  std::set<std::string> tables;
  for (const auto& [table, column] : present) tables.insert(table);
  std::string missing;
  std::set<std::string> toAdd;
  read = columns(model, [&](const std::string& table, const std::string& column) {
    if (present.count({table, column})) return;
    if (!tables.count(table) && schema::isAddedTable(table)) {
      toAdd.insert(table);
    } else if (missing.empty()) {
      missing = table + "." + column;
    }
  });
  if (!read.ok()) return read;
  if (!missing.empty()) {
    return Error{fmt::format("{} is not a usable Plumbline file: it has no table column {}.", m_path, missing)};
  }
  return addEmptyTables(model, toAdd);
}

Status Database::addEmptyTables(Database& model, const std::set<std::string>& names) {
  for (const std::string& name : names) {
    auto text = model.prepare("SELECT substr(sql, length('CREATE TABLE ') + 1) FROM sqlite_schema WHERE name = ?");
    if (!text.ok()) return text.error();
    text.value().bind(1, std::string_view(name));
    if (!text.value().next()) return model.errorHere();
    const std::string create = fmt::format("CREATE TEMP TABLE IF NOT EXISTS {}", text.value().text(0));
    if (Status made = execute(create.c_str()); !made.ok()) return made;
  }
  return Unit{};
}

Status Database::createViews() {
  const auto script = SchemaViews().scriptForAll();
  return script.ok() ? execute(script.value().c_str()) : Status(script.error());
}

Status Database::execute(const char* sql) {
  if (sqlite3_exec(m_handle.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return errorHere();
  return Unit{};
}

Result<Statement> Database::prepare(std::string_view sql) {
  size_t at = 0;
  auto first = prepareNext(sql, at);
  if (!first.ok()) return first.error();
  if (!first.value()) return Error{"The SQL text has no statement."};
  // SQLite, not a search for characters, knows whether what follows is more than blanks and comments.
  const auto second = prepareNext(sql, at);
  if (!second.ok() && sqlite3_errcode(m_handle.get()) == SQLITE_INTERRUPT) return second.error();
  if (!second.ok() || second.value()) return Error{"More than one SQL statement was given where one is expected."};
  return std::move(*first.value());
}

Result<std::optional<Statement>> Database::prepareNext(std::string_view script, size_t& at) {
  sqlite3_stmt* raw = nullptr;
  if (isBorrowed() && !m_state->isCheckingNames) {
    m_state->isCheckingNames = true;
    const Status checked = checkNamesAreOurs(*this, script.substr(std::min(at, script.size())));
    m_state->isCheckingNames = false;
    if (!checked.ok()) return checked.error();
  }
  const auto views = viewsOf(*m_state, script, at);
  if (!views.ok()) return views.error();
  if (!views.value().empty()) {
    const bool wasDeclaring = std::exchange(m_state->isDeclaring, true);
    const Status made = execute(views.value().c_str());
    m_state->isDeclaring = wasDeclaring;
    if (!made.ok()) {
      m_state->views->forget();
      return made.error();
    }
  }
  while (!raw && at < script.size()) {  // an empty statement is a ';' alone
    const std::string_view sql = script.substr(at);
    const char* tail = nullptr;
    const int result = sqlite3_prepare_v3(m_handle.get(), sql.data(), static_cast<int>(sql.size()), 0, &raw, &tail);
    if (result != SQLITE_OK) {
      const std::string message = errorSentence(m_handle.get(), m_path);
      if (const std::string refused = refusedViewSentence(message); !refused.empty()) return Error{refused};
      const int offset = errorOffset(m_handle.get());
      if (offset < 0) return Error{message};
      const std::string position = positionIn(script, at + static_cast<size_t>(offset));
      return Error{fmt::format("SQL error at {}: {}", position, message)};
    }
    const size_t read = tail ? static_cast<size_t>(tail - sql.data()) : sql.size();
    if (read == 0) return Error{fmt::format("SQL error at {}: the text holds a zero byte.", positionIn(script, at))};
    at += read;
  }
  if (!raw) return std::optional<Statement>();
  Statement statement(raw, m_path);
  if (!sqlite3_stmt_readonly(raw))
    return Error{"A trace is opened for reading only, and this statement wants to write."};
  return std::optional<Statement>(std::move(statement));
}

void Database::guard(bool isOn) {
  sqlite3_set_authorizer(m_handle.get(), isOn ? allowReading : nullptr, m_state.get());
}

Status Database::beginSnapshot() {
  if (m_snapshots > 0) return ++m_snapshots, Unit{};
  Status begun = execute("BEGIN");
  if (begun.ok()) m_snapshots = 1;
  return begun;
}

void Database::endSnapshot() noexcept {
  // Not a rollback, which would take the views that were made meanwhile.
  if (--m_snapshots == 0) sqlite3_exec(m_handle.get(), "COMMIT", nullptr, nullptr, nullptr);
}

void Database::whileReading(std::function<void()> callback) {
  constexpr int kInstructions = 200'000;  // of SQLite's machine, between two calls: some milliseconds
  if (!callback) {
    sqlite3_progress_handler(handle(), 0, nullptr, nullptr);
    m_whileReading.reset();
    return;
  }
  m_whileReading = std::make_unique<std::function<void()>>(std::move(callback));
  sqlite3_progress_handler(
      handle(), kInstructions,
      [](void* context) {
        (*static_cast<std::function<void()>*>(context))();
        return 0;
      },
      m_whileReading.get());
}

void Database::interrupt() noexcept { sqlite3_interrupt(m_handle.get()); }

}  // namespace plumb
