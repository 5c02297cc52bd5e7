// How alike two texts are, after Python's difflib.SequenceMatcher(None, a, b).ratio(), bit for bit.
#pragma once

#include <string_view>

namespace lynxkv::suite {

// 2 * (characters in matching blocks) / (characters of both); 1 for two empty texts. Not symmetric. From 200
// characters of `b` on, those that are more than 1 % of it do not start a block ("autojunk").
double sequence_ratio(std::u32string_view a, std::u32string_view b);

}  // namespace lynxkv::suite
