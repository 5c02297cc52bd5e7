// What differs between two sets of settings, for people.
#pragma once

#include <string>

namespace lynxkv::results {

// Two JSON objects compared by dotted keys: "transfer.alpha was 0.05, is 0.1; link.gbps was unset, is 10".
// At most `most` differences are spelled out, the rest counted. Empty where they are equal.
std::string settings_difference(const std::string& before, const std::string& now, int most = 8);

}  // namespace lynxkv::results
