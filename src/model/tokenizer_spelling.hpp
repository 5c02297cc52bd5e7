// The spelling of bytes in byte-level vocabularies: printable Latin-1 stands for itself, every other byte for
// a character from U+0100 on, in order. (A space is spelled U+0120.)
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lynxkv::model {

// The bytes that a spelled token stands for; nothing where a character stands for no byte.
std::optional<std::string> unspell(std::string_view token);

// The other way.
std::string spell(std::string_view bytes);

}  // namespace lynxkv::model
