// Text as Python's str has it, in characters rather than bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lynxkv::model::jinja {

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalized(std::string_view text);  // first character upper, the others lower
std::string titled(std::string_view text);       // each run of letters capitalized: str.title()
std::string words_titled(
    std::string_view text);  // each word, behind white space or one of -({[<: the filter `title`

// Strips white space where `characters` is empty, else any of those.
std::string_view strip(std::string_view text, std::string_view characters, bool left, bool right);

// str.split / rsplit: on white space where `separator` is empty; at most `most` cuts, -1: all.
std::vector<std::string> split_text(std::string_view text, std::string_view separator, long most,
                                    bool from_right);

// At most `most` occurrences, -1: all. `from` is not empty. Gives up, false, where the result would pass
// `limit` bytes.
bool replace_text(std::string_view text, std::string_view from, std::string_view to, long most,
                  std::size_t limit, std::string& out);

}  // namespace lynxkv::model::jinja
