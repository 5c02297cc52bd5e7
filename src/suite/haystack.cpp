#include "suite/haystack.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace lynxkv::suite {
namespace {

constexpr std::size_t longest_piece_bytes = 300;

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}
bool continues_a_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u;
}

// Where the piece that begins at `begin` ends, before the white space that follows it.
std::size_t end_of_piece(std::string_view text, std::size_t begin) {
  const std::size_t limit = std::min(text.size(), begin + longest_piece_bytes);
  std::size_t last_blank = 0;
  for (std::size_t at = begin; at < limit; ++at) {
    if (at + 1 == text.size()) return text.size();
    const bool stop = text[at] == '.' || text[at] == '!' || text[at] == '?';
    if (stop && is_blank(text[at + 1])) return at + 1;
    if (text[at] == '\n' && text[at + 1] == '\n') return at;
    if (is_blank(text[at]) && at > begin) last_blank = at;
  }
  if (last_blank > begin) return last_blank;
  std::size_t end = limit;
  while (end < text.size() && continues_a_character(text[end])) ++end;
  return end;
}

}  // namespace

std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = end_of_piece(text, at);
    while (end < text.size() && is_blank(text[end])) ++end;
    pieces.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

std::string lay_out(const std::vector<std::string>& pieces, std::size_t first, int count,
                    const std::vector<double>& depths, const std::vector<std::string>& inserts) {
  LYNXKV_CHECK(depths.size() == inserts.size() && (count == 0 || !pieces.empty()));
  std::string text;
  const auto add = [&](const std::string& piece) {
    if (!text.empty() && !is_blank(text.back())) text += ' ';
    text += piece;
  };
  std::size_t next = 0;
  for (int i = 0; i <= count; ++i) {
    while (next < inserts.size() && static_cast<int>(depths[next] * (count + 1)) <= i) add(inserts[next++]);
    if (i < count) add(pieces[(first + static_cast<std::size_t>(i)) % pieces.size()]);
  }
  while (next < inserts.size()) add(inserts[next++]);
  while (!text.empty() && is_blank(text.back())) text.pop_back();
  return text;
}

int fill_to_length(const std::function<std::string(int)>& make, int length, const TokenCounter& count_tokens,
                   int& guess) {
  const auto tokens = [&](int n) { return count_tokens(make(n)); };
  const int none = tokens(0);
  if (none > length) return -1;
  // `fits` holds, `too_long` does not (a piece is a token at least). Each step aims where a straight line
  // through what is known meets the length; halving takes over where that does not get there.
  int fits = 0, fits_tokens = none;
  int too_long = length - none + 1;
  double tokens_each = 8;
  int next = guess > 0 ? guess : static_cast<int>((length - none) / tokens_each);
  for (int step = 0; too_long - fits > 1; ++step) {
    next = std::clamp(next, fits + 1, too_long - 1);
    const int found = tokens(next);
    tokens_each = std::max(static_cast<double>(found - none) / next, 0.5);
    if (found <= length) {
      fits = next;
      fits_tokens = found;
    } else {
      too_long = next;
    }
    const int more = static_cast<int>((length - fits_tokens) / tokens_each);
    next = step < 6 ? fits + more : fits + (too_long - fits) / 2;
  }
  guess = fits;
  return fits;
}

}  // namespace lynxkv::suite
