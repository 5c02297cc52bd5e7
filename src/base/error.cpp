#include "base/error.hpp"

namespace lynxkv {

int exit_code(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::usage: return 2;
    case ErrorCode::bad_data: return 3;
    case ErrorCode::transport: return 4;
    case ErrorCode::promise: return 5;
    case ErrorCode::incomplete: return 75;
  }
  return 2;
}

namespace {

// A message is one line whatever text from a file found its way into it.
std::string one_line(const std::string& where, std::string_view what) {
  std::string line = where.empty() ? std::string(what) : where + ": " + std::string(what);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return line;
}

}  // namespace

Error::Error(ErrorCode code, std::string where, std::string_view what)
    : std::runtime_error(one_line(where, what)), code_(code), where_(std::move(where)) {}

}  // namespace lynxkv
