// What an option takes: checks whose messages a person can read, and the same words in --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace lynxkv::apps {

// The error with `where` in place of the key or kind of name that a library knows; what names an option or a file of
// its own stays as it is.
Error renamed(const Error& error, const std::string& where);

// A whole number from `low` on (what an int holds at most): "expected a whole number, 0 or more; found '-1'".
CLI::Validator at_least(long long low);
// A whole number in [low, high]: "expected a whole number from 1 to 256, found '0'".
CLI::Validator whole_between(long long low, long long high);
// Any finite number in [low, high]: "expected a number from 0.1 to 3600, found '5000'".
CLI::Validator between(double low, double high);
// One of `names`: "unknown transport 'tcp'; did you mean 'loop'? (one of: mpi, nccl, loop)".
CLI::Validator one_of(std::string what, std::vector<std::string> names);
// Turns a size in bytes, with or without K, M or G (powers of 1024), into its digits.
CLI::Validator size_between(long long low, long long high);

// Does what an option asks for; what is refused there is named as the user typed it.
template <class Work>
auto as_option(const std::string& typed, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    throw renamed(error, typed);
  }
}

// What CLI11 says of a value that is no number, in our words; other messages as they are.
std::string conversion_text(const std::string& message);

}  // namespace lynxkv::apps
