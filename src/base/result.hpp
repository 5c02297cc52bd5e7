// Result<T>: a value, or the Error that stood in its way. For bytes that a peer or a file wrote, where a
// failure is an ordinary outcome and the caller decides what it means.
#pragma once

#include <utility>
#include <variant>

#include "base/check.hpp"
#include "base/error.hpp"

namespace lynxkv {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& value() & { return require(), std::get<0>(state_); }
  const T& value() const& { return require(), std::get<0>(state_); }
  T&& value() && { return require(), std::get<0>(std::move(state_)); }
  const Error& error() const {
    LYNXKV_CHECK(!ok());
    return std::get<1>(state_);
  }

  // The value; throws the Error where there is none.
  T take() && {
    if (!ok()) throw std::get<1>(std::move(state_));
    return std::get<0>(std::move(state_));
  }

 private:
  void require() const { LYNXKV_CHECK(ok()); }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  const Error& error() const {
    LYNXKV_CHECK(!ok());
    return std::get<1>(state_);
  }
  void take() && {
    if (!ok()) throw std::get<1>(std::move(state_));
  }

 private:
  std::variant<std::monostate, Error> state_;
};

}  // namespace lynxkv
