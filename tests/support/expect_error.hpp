// The one-line message of an Error that a call must throw.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"

namespace lynxkv::testing {

// Empty, and a failed test, where nothing or something else is thrown.
template <class Call>
std::string error_of(const Call& call, ErrorCode code = ErrorCode::bad_data) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << "a message is one line";
    return message;
  }
  ADD_FAILURE() << "expected an error, found none";
  return "";
}

// Whether `text` has `part`, with both in the failure.
inline ::testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "expected '" << part << "' in '" << text << "'";
}

}  // namespace lynxkv::testing
