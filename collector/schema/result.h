// SPDX-License-Identifier: Apache-2.0
// Errors are values: a function that can fail returns Result<T>. The message is one sentence for the user that says
// what went wrong, where, and what to do.
#pragma once
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace plumb {

struct Error {
  std::string message;
};

// Either a T or an Error. No conversion to bool: ask ok().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return m_state.index() == 0; }
  // Requires ok().
  [[nodiscard]] T& value() & { return *std::get_if<0>(&m_state); }
  [[nodiscard]] const T& value() const& { return *std::get_if<0>(&m_state); }
  [[nodiscard]] T&& value() && { return std::move(*std::get_if<0>(&m_state)); }
  // Requires !ok().
  [[nodiscard]] const Error& error() const { return *std::get_if<1>(&m_state); }

 private:
  std::variant<T, Error> m_state;
};

struct Unit {};

// Success without a value is written `return Unit{};`.
using Status = Result<Unit>;

}  // namespace plumb
