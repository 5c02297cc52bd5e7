// The valid name that a mistyped one most likely meant, for messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lynxkv {

// The candidate with the smallest edit distance to `name`; empty where there are no candidates.
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);

// "unknown mode 'lynks'; did you mean 'lynx'? (one of: bf16, int8, ...)"
std::string unknown_name(std::string_view what, std::string_view name, std::span<const std::string_view> candidates);

}  // namespace lynxkv
