#include "codec/options.hpp"

#include <array>
#include <charconv>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace lynxkv::codec {
namespace {

constexpr std::array<std::string_view, 3> presets = {"default", "plain", "paper"};
constexpr std::array<std::string_view, 12> names = {
    "alpha",          "alpha_v",          "levels",           "centre",         "sigma",         "sinks", "fit",
    "chunk_tokens_v", "early_channels_k", "early_channels_v", "early_tokens_k", "early_tokens_v"};

[[noreturn]] void refuse(std::string_view name, const std::string& what) {
  throw Error(ErrorCode::usage, "codec option " + std::string(name), what);
}

template <class Number>
void read(std::string_view name, std::string_view text, Number& out) {
  Number value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size())
    refuse(name, "expected a number, found '" + std::string(text) + "'");
  out = value;
}

template <class Enum>
void choose(std::string_view name, std::string_view text, Enum& out, std::array<std::string_view, 2> choices) {
  if (text != choices[0] && text != choices[1]) refuse(name, unknown_name("value", text, choices));
  out = text == choices[0] ? Enum{0} : Enum{1};
}

std::string number_text(float value) {
  char text[32];
  const auto done = std::to_chars(text, text + sizeof text, value);
  return {text, done.ptr};
}

int* whole_number(CodecOptions& options, std::string_view name) {
  if (name == "levels") return &options.levels;
  if (name == "sinks") return &options.sinks;
  if (name == "chunk_tokens_v") return &options.chunk_tokens_v;
  if (name == "early_channels_k") return &options.early_channels_k;
  if (name == "early_channels_v") return &options.early_channels_v;
  if (name == "early_tokens_k") return &options.early_tokens_k;
  if (name == "early_tokens_v") return &options.early_tokens_v;
  return nullptr;
}

}  // namespace

std::span<const std::string_view> preset_names() noexcept { return presets; }
std::span<const std::string_view> option_names() noexcept { return names; }

CodecOptions preset_options(std::string_view name) {
  CodecOptions options;
  if (name == "plain") return options;
  if (name == "paper") {
    options.alpha = 2;
    options.levels = 120;
    options.centre = Centre::mean;
    options.sigma = Sigma::linear;
    options.sinks = 0;
    return options;
  }
  if (name != "default") refuse("preset", unknown_name("preset", name, presets));
  options.alpha = 0.01f;
  options.levels = 120;
  options.fit = Fit::least_error;
  options.chunk_tokens_v = 64;
  options.early_channels_k = 16;
  options.early_tokens_k = options.early_tokens_v = 12;
  return options;
}

void set_option(CodecOptions& options, std::string_view name, std::string_view value) {
  if (int* number = whole_number(options, name); number != nullptr) return read(name, value, *number);
  if (name == "alpha") return read(name, value, options.alpha);
  if (name == "alpha_v") return read(name, value, options.alpha_v);
  if (name == "centre") return choose(name, value, options.centre, {"mid", "mean"});
  if (name == "sigma") return choose(name, value, options.sigma, {"log", "linear"});
  if (name == "fit") return choose(name, value, options.fit, {"extremes", "least_error"});
  throw Error(ErrorCode::usage, "codec option", unknown_name("option", name, names));
}

std::string option_value(const CodecOptions& options, std::string_view name) {
  CodecOptions copy = options;
  if (const int* number = whole_number(copy, name); number != nullptr) return std::to_string(*number);
  if (name == "alpha") return number_text(options.alpha);
  if (name == "alpha_v") return number_text(options.alpha_v);
  if (name == "centre") return options.centre == Centre::mid ? "mid" : "mean";
  if (name == "sigma") return options.sigma == Sigma::log ? "log" : "linear";
  if (name == "fit") return options.fit == Fit::extremes ? "extremes" : "least_error";
  throw Error(ErrorCode::usage, "codec option", unknown_name("option", name, names));
}

CodecOptions parse_options(std::string_view text, CodecOptions base) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(item.size() < text.size() ? item.size() + 1 : item.size());
    const auto equals = item.find('=');
    if (equals == std::string_view::npos)
      throw Error(ErrorCode::usage, "codec options", "expected NAME=VALUE, found '" + std::string(item) + "'");
    const std::string_view name = item.substr(0, equals), value = item.substr(equals + 1);
    if (name == "preset")
      base = preset_options(value);
    else
      set_option(base, name, value);
  }
  return base;
}

std::string difference_text(const CodecOptions& options, const CodecOptions& base) {
  std::string text;
  for (const std::string_view name : names) {
    const std::string value = option_value(options, name);
    if (value == option_value(base, name)) continue;
    text += (text.empty() ? "" : ",") + std::string(name) + "=" + value;
  }
  return text;
}

}  // namespace lynxkv::codec
