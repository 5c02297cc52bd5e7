#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace lynxkv {

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "lynxkv: internal error at %s:%d: '%s' does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace lynxkv
