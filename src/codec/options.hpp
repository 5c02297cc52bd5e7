// The options of the `lynx` family by name: as config keys (transfer.NAME), flags and variants of a study spell them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codec/codec.hpp"

namespace lynxkv::codec {

// Sets of options:
//   default  what runs use: the best measured at 4.75 bits an element (src/quality/QUALITY.md)
//   plain    the plain format: scalars from a chunk's extremes, no early residuals
//   paper    the published choices: 120 levels, mean, linear, no sinks, alpha 2
// Throws Error{usage} naming the nearest set.
CodecOptions preset_options(std::string_view name);
std::span<const std::string_view> preset_names() noexcept;

std::span<const std::string_view> option_names() noexcept;
// Throws Error{usage}: no such option, or a value of another kind. Ranges are make_codec's to check.
void set_option(CodecOptions& options, std::string_view name, std::string_view value);
std::string option_value(const CodecOptions& options, std::string_view name);

// "NAME=VALUE,NAME=VALUE": in order, over `base`; "preset=NAME" replaces all before it. An empty text changes nothing.
CodecOptions parse_options(std::string_view text, CodecOptions base);
// The options that differ from `base`, as parse_options reads them; empty where none does.
std::string difference_text(const CodecOptions& options, const CodecOptions& base);

}  // namespace lynxkv::codec
