// Haystacks: a text cut into pieces that can be repeated to any length, and the search for the longest prompt
// that a number of tokens holds.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "suite/suite.hpp"

namespace lynxkv::suite {

// Pieces of a text, each a sentence with the white space after it; together they are the text. A stretch
// without sentence ends is cut at white space, or between characters, after about 300 bytes.
std::vector<std::string> sentences_of(std::string_view text);

// The text of the pieces first, first + 1, ... (count of them, going round at the end), with `inserts[i]` put
// in front of the piece at depths[i] (0 .. 1, rising) of the count. White space is added where pieces would
// touch.
std::string lay_out(const std::vector<std::string>& pieces, std::size_t first, int count,
                    const std::vector<double>& depths, const std::vector<std::string>& inserts);

// The largest n >= 0 for which count_tokens(make(n)) <= length, where make(n) grows with n, about evenly.
// `guess` is where to look first (0: nowhere) and takes the answer for the next call. -1 where make(0) is
// longer already.
int fill_to_length(const std::function<std::string(int)>& make, int length, const TokenCounter& count_tokens,
                   int& guess);

}  // namespace lynxkv::suite
