// What can go wrong, and how a process says so when it leaves.
// Set-up and local I/O throw Error; bytes from a peer or a file give a Result (base/result.hpp).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace lynxkv {

// Why something failed. Each maps to one documented exit code, so scripts can tell the cases apart.
enum class ErrorCode {
  usage,       // a command line, key or value that we do not take
  bad_data,    // a file or model that is damaged, unsupported or inconsistent
  transport,   // a peer, a rank or the link
  promise,     // a verification promise was broken: the output would not be what we say it is
  incomplete,  // stopped before the end with nothing lost: run the same command again
};

// Exit codes of every command: 0 complete, 2 usage, 3 bad data, 4 transport, 5 promise broken, 75 incomplete.
int exit_code(ErrorCode code) noexcept;

// One failure. `where` names the thing (file, key, rank, tensor); `what` says what was expected, what was
// found and what to do. what() of the exception is "where: what", one line.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string where, std::string_view what);

  ErrorCode code() const noexcept { return code_; }
  const std::string& where() const noexcept { return where_; }

 private:
  ErrorCode code_;
  std::string where_;
};

}  // namespace lynxkv
