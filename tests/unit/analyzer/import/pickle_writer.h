// SPDX-License-Identifier: Apache-2.0
// Writes pickles for tests: values as JSON, in the opcodes that Python's pickle (protocol 4) or PyTorch's own writer
// (protocol 2) use for them.
#pragma once
#include <bit>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace plumb::test {

class PickleWriter {
 public:
  explicit PickleWriter(int protocol = 4) : m_protocol(protocol) {}

  // Objects keep the order in which they are written down.
  std::string write(const nlohmann::ordered_json& value) {
    m_out.assign({'\x80', static_cast<char>(m_protocol)});
    if (m_protocol >= 4) m_out.append(1, '\x95').append(8, '\0');
    m_memo = 0;
    put(value);
    m_out += '.';
    return m_out;
  }

 private:
  void little(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) m_out += static_cast<char>(value >> (8 * i));
  }
  void memoize() {
    if (m_protocol >= 4) {
      m_out += '\x94';
    } else {
      m_out += 'r';
      little(m_memo, 4);
    }
    ++m_memo;
  }
  void putText(const std::string& text) {
    if (m_protocol >= 4 && text.size() < 256) {
      m_out += '\x8c';
      little(text.size(), 1);
    } else {
      m_out += 'X';
      little(text.size(), 4);
    }
    m_out += text;
    memoize();
  }
  void putInteger(int64_t value) {
    if (value >= 0 && value < 256) {
      m_out += 'K';
      little(static_cast<uint64_t>(value), 1);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
      m_out += 'J';
      little(static_cast<uint64_t>(value), 4);
    } else {
      m_out.append("\x8a\x08");
      little(static_cast<uint64_t>(value), 8);
    }
  }
  void put(const nlohmann::ordered_json& value) {
    switch (value.type()) {
      case nlohmann::json::value_t::null:
        m_out += 'N';
        break;
      case nlohmann::json::value_t::boolean:
        m_out += value.get<bool>() ? '\x88' : '\x89';
        break;
      case nlohmann::json::value_t::number_float: {
        const auto bits = std::bit_cast<uint64_t>(value.get<double>());
        m_out += 'G';
        for (int i = 7; i >= 0; --i) m_out += static_cast<char>(bits >> (8 * i));
        break;
      }
      case nlohmann::json::value_t::string:
        putText(value.get<std::string>());
        break;
      case nlohmann::json::value_t::array:
        m_out += ']';
        memoize();
        m_out += '(';
        for (const auto& item : value) put(item);
        m_out += 'e';
        break;
      case nlohmann::json::value_t::object:
        m_out += '}';
        memoize();
        m_out += '(';
        for (const auto& [key, item] : value.items()) {
          putText(key);
          put(item);
        }
        m_out += 'u';
        break;
      default:
        putInteger(value.get<int64_t>());
    }
  }

  int m_protocol;
  uint32_t m_memo = 0;
  std::string m_out;
};

inline std::string pickled(const nlohmann::ordered_json& value, int protocol = 4) {
  return PickleWriter(protocol).write(value);
}
inline std::string pickledText(const std::string& json, int protocol = 4) {
  return pickled(nlohmann::ordered_json::parse(json), protocol);
}

}  // namespace plumb::test
