// SPDX-License-Identifier: Apache-2.0
// What stands where in the bytes of an SQLite file: https://www.sqlite.org/fileformat2.html
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace plumb {

inline constexpr size_t kFileHeader = 100;  // bytes, of page 1
inline constexpr size_t kLeastPage = 512;
inline constexpr uint8_t kInteriorPage = 0x05, kLeafPage = 0x0D;  // of a table
inline constexpr size_t kInteriorHeader = 12, kLeafHeader = 8;    // bytes of a page before the pointers to its cells
inline constexpr size_t kLeastCell = 4;                           // bytes

static_assert(std::endian::native == std::endian::little);
inline uint16_t number16(const uint8_t* bytes) {
  uint16_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return __builtin_bswap16(value);
}
inline void putNumber16(uint8_t* bytes, uint16_t value) {
  value = __builtin_bswap16(value);
  std::memcpy(bytes, &value, sizeof value);
}
inline uint32_t number32(const uint8_t* bytes) {
  uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return __builtin_bswap32(value);
}
inline uint64_t number64(const uint8_t* bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return __builtin_bswap64(value);
}

// Of the header of a file, kFileHeader bytes.
inline bool isDatabase(const uint8_t* header) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return std::memcmp(header, kMagic.data(), kMagic.size()) == 0;
}
inline bool isInLogMode(const uint8_t* header) { return header[18] != 1 || header[19] != 1; }
inline size_t pageSizeIn(const uint8_t* header) {
  const size_t size = number16(header + 16);
  return size == 1 ? 65536 : size;
}

// Reads numbers of variable length; everything behind the end reads as 0 and leaves isGood false.
class Varints {
 public:
  Varints(const uint8_t* at, const uint8_t* end) : m_at(at), m_end(end) {}
  uint64_t next() {
    if (m_at < m_end && *m_at < 0x80) return *m_at++;
    uint64_t value = 0;
    for (int i = 0; i < 9; ++i) {
      if (m_at == m_end) return m_isGood = false, 0;
      const uint8_t byte = *m_at++;
      if (i == 8) return value << 8 | byte;
      value = value << 7 | (byte & 0x7F);
      if (byte < 0x80) break;
    }
    return value;
  }
  [[nodiscard]] const uint8_t* at() const { return m_at; }
  [[nodiscard]] bool isGood() const { return m_isGood; }

 private:
  const uint8_t *m_at, *m_end;
  bool m_isGood = true;
};

}  // namespace plumb
