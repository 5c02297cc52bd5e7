// A quoted string of a template, with Python's escapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lynxkv::model::jinja {

// source[at] is the opening quote. Appends the value, and moves `at` behind the closing quote; false where
// there is none. An escape that Python does not know stands for itself, backslash included.
bool read_string_literal(std::string_view source, std::size_t& at, std::string& value);

}  // namespace lynxkv::model::jinja
