// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/table_pages.h"

#include <algorithm>
#include <array>
#include <optional>

#include "analyzer/trace/page_bytes.h"
#include "analyzer/trace/sqlite_api.h"

namespace plumb {
namespace {

constexpr int kDeepest = 20;          // levels; SQLite's own limit
constexpr size_t kOverflowRest = 35;  // bytes of a page that are not for one record
constexpr size_t kMostColumns = 64;

// The pages of a connection's main file, read in larger pieces because a table's mostly follow each other.
class Pages {
 public:
  // None where the file is not to be read past SQLite.
  [[nodiscard]] static std::optional<Pages> open(sqlite3* database, uint32_t schemaCookie) {
    if (sqlite3_txn_state(database, "main") != SQLITE_TXN_READ) return {};
    Pages pages;
    sqlite3_int64 bytes = 0;
    std::array<uint8_t, kFileHeader> header;
    if (sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &pages.m_file) != SQLITE_OK) return {};
    if (!pages.m_file || !pages.m_file->pMethods) return {};
    const sqlite3_io_methods& methods = *pages.m_file->pMethods;
    if (methods.xFileSize(pages.m_file, &bytes) != SQLITE_OK) return {};
    if (methods.xRead(pages.m_file, header.data(), kFileHeader, 0) != SQLITE_OK) return {};
    if (!isDatabase(header.data()) || isInLogMode(header.data())) return {};
    if (number32(&header[40]) != schemaCookie) return {};
    pages.m_pageSize = pageSizeIn(header.data());
    if (pages.m_pageSize < kLeastPage || (pages.m_pageSize & (pages.m_pageSize - 1)) != 0) return {};
    pages.m_usable = pages.m_pageSize - header[20];
    pages.m_count = static_cast<uint64_t>(bytes) / pages.m_pageSize;
    const bool isCountGood = number32(&header[24]) == number32(&header[92]) && number32(&header[28]) > 0;
    if (isCountGood) pages.m_count = std::min<uint64_t>(pages.m_count, number32(&header[28]));
    if (pages.m_usable < 480 || pages.m_count == 0) return {};
    pages.m_perPiece = std::max<size_t>(1, kPieceBytes / pages.m_pageSize);
    pages.m_piece.resize(pages.m_perPiece * pages.m_pageSize + kSlack);
    return pages;
  }

  // Null when there is none; good until the next is asked for. kSlack bytes behind it can be read.
  [[nodiscard]] const uint8_t* page(uint32_t number) {
    if (number == 0 || number > m_count) return nullptr;
    const uint64_t index = number - 1, piece = index / m_perPiece;
    if (piece != m_inMemory) {
      const uint64_t first = piece * m_perPiece;
      const auto bytes = static_cast<int>(std::min<uint64_t>(m_perPiece, m_count - first) * m_pageSize);
      m_inMemory = kNone;
      const auto offset = static_cast<sqlite3_int64>(first * m_pageSize);
      if (m_file->pMethods->xRead(m_file, m_piece.data(), bytes, offset) != SQLITE_OK) return nullptr;
      m_inMemory = piece;
    }
    return m_piece.data() + index % m_perPiece * m_pageSize;
  }
  [[nodiscard]] size_t usable() const { return m_usable; }  // bytes of each page
  [[nodiscard]] uint64_t count() const { return m_count; }

 private:
  static constexpr size_t kPieceBytes = 64 << 10, kSlack = sizeof(uint64_t);
  static constexpr uint64_t kNone = ~uint64_t{0};
  sqlite3_file* m_file = nullptr;
  size_t m_pageSize = 0, m_usable = 0, m_perPiece = 1;
  uint64_t m_count = 0, m_inMemory = kNone;
  std::vector<uint8_t> m_piece;
};

class TableWalk {
 public:
  TableWalk(Pages pages, const TablePages::Callbacks& callbacks, size_t& given)
      : m_pages(std::move(pages)), m_callbacks(callbacks), m_given(given) {
    m_slots.fill(kUnwanted);
  }
  // The next of the values is that of the column at this place of the table. False when it is one already.
  [[nodiscard]] bool want(size_t place, bool isRowId) {
    if (place >= kMostColumns || m_slots[place] != kUnwanted || m_wanted == static_cast<int8_t>(m_values.size()))
      return false;
    if (isRowId) m_rowIdSlot = m_wanted;
    m_slots[place] = m_wanted++;
    m_last = std::max(m_last, place);
    return true;
  }

  Walk visit(uint32_t number, int depth = 0) {
    const uint8_t* page = m_pages.page(number);
    if (!page || depth > kDeepest || ++m_visited > m_pages.count()) return Walk::Unusable;
    const size_t header = number == 1 ? kFileHeader : 0;
    const size_t cells = number16(page + header + 3);
    if (cells == 0 && depth > 0) return Walk::Unusable;  // only a table without rows has an empty page
    if (page[header] == kLeafPage) return visitLeaf(page, header, cells);
    const size_t pointers = header + kInteriorHeader;
    if (page[header] != kInteriorPage || pointers + 2 * cells > m_pages.usable()) return Walk::Unusable;
    std::vector<uint32_t> children;  // the page's bytes make room for theirs
    for (size_t i = 0; i < cells; ++i) {
      const size_t cell = number16(page + pointers + 2 * i);
      if (cell < pointers + 2 * cells || cell + kLeastCell > m_pages.usable()) return Walk::Unusable;
      children.push_back(number32(page + cell));
    }
    children.push_back(number32(page + header + 8));
    for (const uint32_t child : children) {
      if (const Walk walk = visit(child, depth + 1); walk != Walk::Done) return walk;
    }
    return Walk::Done;
  }

 private:
  static constexpr int8_t kUnwanted = -1;

  Walk visitLeaf(const uint8_t* page, size_t header, size_t cells) {
    const size_t pointers = header + kLeafHeader;
    if (pointers + 2 * cells > m_pages.usable()) return Walk::Unusable;
    if (!m_callbacks.goOn()) return Walk::Stopped;
    for (size_t i = 0; i < cells; ++i) {
      const size_t cell = number16(page + pointers + 2 * i);
      if (cell < pointers + 2 * cells || cell + kLeastCell > m_pages.usable()) return Walk::Unusable;
      if (!decode(page + cell, page + m_pages.usable())) return Walk::Unusable;
      ++m_given;
      if (!m_callbacks.take(RowValues(m_values.data(), m_nulls))) return Walk::Stopped;
    }
    return Walk::Done;
  }

  // False: something else than whole numbers of this page.
  bool decode(const uint8_t* cell, const uint8_t* pageEnd) {
    Varints lengths(cell, pageEnd);
    const uint64_t payload = lengths.next();
    const auto rowId = static_cast<int64_t>(lengths.next());
    const uint8_t* record = lengths.at();
    const bool isOfThisPage = payload <= m_pages.usable() - kOverflowRest;  // else it goes on in others
    if (!lengths.isGood() || !isOfThisPage || payload > static_cast<uint64_t>(pageEnd - record)) return false;
    const uint8_t* end = record + payload;
    Varints types(record, end);
    const uint64_t headerBytes = types.next();
    if (!types.isGood() || headerBytes > payload || record + headerBytes < types.at()) return false;
    const uint8_t *type = types.at(), *typesEnd = record + headerBytes, *value = typesEnd;
    m_nulls = 0;
    for (size_t column = 0; column <= m_last; ++column) {
      if (type >= typesEnd || *type > 9) return decodeOther(column, {type, typesEnd}, {value, end}, rowId);
      const size_t bytes = kBytes[*type];
      if (bytes > static_cast<size_t>(end - value)) return false;
      const int8_t slot = m_slots[column];
      if (slot != kUnwanted && !take(static_cast<size_t>(slot), *type, value, rowId)) return false;
      value += bytes;
      ++type;
    }
    return type < typesEnd || value == end;  // the columns are the record, no more and no less
  }
  struct Bytes {
    const uint8_t *at, *end;
  };
  // The rest of a record in which not all are whole numbers.
  bool decodeOther(size_t column, Bytes header, Bytes body, int64_t rowId) {
    Varints types(header.at, header.end);
    for (; column <= m_last; ++column) {
      const uint64_t type = types.next();
      if (!types.isGood() || type == 10 || type == 11) return false;
      const uint64_t bytes = type >= 12 ? (type - 12) / 2 : kBytes[type];
      if (bytes > static_cast<uint64_t>(body.end - body.at)) return false;
      const int8_t slot = m_slots[column];
      if (slot != kUnwanted && !take(static_cast<size_t>(slot), type, body.at, rowId)) return false;
      body.at += bytes;
    }
    return types.at() < header.end || body.at == body.end;
  }
  bool take(size_t slot, uint64_t type, const uint8_t* value, int64_t rowId) {
    if (static_cast<int8_t>(slot) == m_rowIdSlot) {
      m_values[slot] = rowId;  // whatever stands there
    } else if (type >= 1 && type <= 6) {
      m_values[slot] = static_cast<int64_t>(number64(value)) >> kUnused[type];  // of eight bytes the first
    } else if (type == 8 || type == 9) {
      m_values[slot] = static_cast<int64_t>(type - 8);
    } else if (type == 0) {
      m_values[slot] = 0;
      m_nulls |= uint32_t{1} << slot;
    } else {
      return false;  // a real number, a text or bytes
    }
    return true;
  }

  static constexpr std::array<uint8_t, 10> kBytes = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};  // of a value, by type
  static constexpr std::array<uint8_t, 7> kUnused = {0, 56, 48, 40, 32, 16, 0};  // bits behind a number in eight bytes
  Pages m_pages;
  const TablePages::Callbacks& m_callbacks;
  size_t& m_given;
  uint64_t m_visited = 0;
  std::array<int8_t, kMostColumns> m_slots;  // by column: which of the wanted it is
  int8_t m_wanted = 0;
  size_t m_last = 0;  // column that is wanted
  int8_t m_rowIdSlot = kUnwanted;
  std::array<int64_t, 32> m_values{};
  uint32_t m_nulls = 0;
};

}  // namespace

const std::vector<TablePages::Column>& TablePages::columnsOf(sqlite3* database, const std::string& table) {
  const auto [entry, isNew] = m_columns.try_emplace(table);
  if (!isNew) return entry->second;
  sqlite3_stmt* rows = nullptr;
  if (sqlite3_prepare_v2(database, ("PRAGMA main.table_info(" + table + ")").c_str(), -1, &rows, nullptr) ==
      SQLITE_OK) {
    const auto text = [&](int column) {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(rows, column));
      return std::string(bytes ? bytes : "");
    };
    while (sqlite3_step(rows) == SQLITE_ROW) {
      entry->second.push_back({text(1), sqlite3_column_int(rows, 5) > 0 && text(2) == "INTEGER"});
    }
  }
  sqlite3_finalize(rows);
  return entry->second;
}

Walk TablePages::forEachRow(sqlite3* database, const std::string& table, const std::vector<std::string>& columns,
                            const Callbacks& callbacks, size_t& given) {
  const auto root = std::ranges::find(m_roots, table, &Root::table);
  if (root == m_roots.end()) return Walk::Unusable;
  auto pages = Pages::open(database, m_schemaCookie);
  if (!pages) return Walk::Unusable;
  TableWalk walk(std::move(*pages), callbacks, given);
  const std::vector<Column>& all = columnsOf(database, table);
  for (const std::string& name : columns) {
    const auto column = std::ranges::find(all, name, &Column::name);
    if (column == all.end() || !walk.want(static_cast<size_t>(column - all.begin()), column->isRowId))
      return Walk::Unusable;
  }
  return walk.visit(root->page);
}

}  // namespace plumb
