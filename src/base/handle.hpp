// Handle<Traits>: sole owner of one C handle (HDF5 id, communicator, file descriptor, mapped file).
// Traits: `using type`, `static type none()`, `static void close(type) noexcept`.
#pragma once

#include <type_traits>
#include <utility>

namespace lynxkv {

template <class Traits>
class Handle {
 public:
  using type = typename Traits::type;

  Handle() noexcept : raw_(Traits::none()) {}
  explicit Handle(type raw) noexcept : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(other.release()) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  type get() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return !(raw_ == Traits::none()); }
  type release() noexcept { return std::exchange(raw_, Traits::none()); }
  void reset(type raw = Traits::none()) noexcept {
    type old = std::exchange(raw_, raw);
    if (!(old == Traits::none())) {
      static_assert(!std::is_copy_constructible_v<Handle> && std::is_nothrow_move_constructible_v<Handle>);
      Traits::close(old);
    }
  }

 private:
  type raw_;
};

}  // namespace lynxkv
