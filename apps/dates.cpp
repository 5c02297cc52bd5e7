#include "apps/dates.hpp"

#include <ctime>

namespace lynxkv::apps {
namespace {

std::string formatted(const char* format) {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, format, std::gmtime(&now));
  return text;
}

}  // namespace

std::string today() { return formatted("%Y-%m-%d"); }
std::string utc_now() { return formatted("%Y-%m-%d %H:%M UTC"); }

}  // namespace lynxkv::apps
