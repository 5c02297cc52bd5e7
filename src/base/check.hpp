// LYNXKV_CHECK: a programmer's error stops the process, in release builds too, and names the place.
#pragma once

namespace lynxkv {

[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace lynxkv

#define LYNXKV_CHECK(condition) \
  ((condition) ? void(0) : ::lynxkv::check_failed(#condition, __FILE__, __LINE__))
