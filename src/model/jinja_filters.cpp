// Filters over single values.
#include <cmath>
#include <cstdlib>

#include "model/jinja_builtins.hpp"
#include "model/jinja_lexer.hpp"
#include "model/jinja_text.hpp"

namespace lynxkv::model::jinja {
namespace {

constexpr std::size_t most_text_bytes = 64u << 20;

Value to_json(const Call& call, const Value& base) {
  const auto indent = call.integer(0, "indent", -1);
  if (indent > 40) call.refuse("expected an indent of at most 40, found " + std::to_string(indent));
  call.charge_for(base);
  std::string out;
  if (!append_json(out, base, static_cast<int>(indent)))
    call.refuse("something inside cannot be written as JSON");
  return call.string(std::move(out));
}

Value with_default(const Call& call, const Value& base) {
  const Value* fallback = call.argument(0, "default_value");
  const Value* also_false = call.argument(1, "boolean");
  const bool use = base.is_undefined() || (also_false != nullptr && also_false->truthy() && !base.truthy());
  if (!use) return base;
  return fallback == nullptr ? Value(std::string()) : *fallback;
}

// As int(x) and float(x), with the fallback where that fails.
Value to_number(const Call& call, const Value& base, bool integer) {
  const Value fallback = call.argument(0, "default") != nullptr ? *call.argument(0, "default")
                         : integer                              ? Value(std::int64_t{0})
                                                                : Value(0.0);
  double number = 0;
  if (base.is_number()) {
    if (integer && base.is_integer()) return base.integer();
    number = base.real();
  } else if (base.string() != nullptr) {
    const std::string text(strip(*base.string(), "", true, true));
    char* end = nullptr;
    if (integer) {
      errno = 0;
      const long long whole = std::strtoll(text.c_str(), &end, 10);
      if (!text.empty() && *end == '\0' && errno == 0) return static_cast<std::int64_t>(whole);
    }
    number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || text.find_first_of("xXpP") != std::string::npos) return fallback;
  } else {
    return fallback;
  }
  if (!integer) return number;
  if (!std::isfinite(number) || std::fabs(number) > 9e18) return fallback;
  return static_cast<std::int64_t>(number);
}

Value round_number(const Call& call, const Value& base) {
  if (!base.is_number()) call.refuse("expected a number, found " + std::string(base.kind()));
  const std::int64_t digits = call.integer(0, "precision", 0);
  const std::string method = call.text(1, "method", "common");
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = base.real() * scale;
  if (method == "ceil") return std::ceil(scaled) / scale;
  if (method == "floor") return std::floor(scaled) / scale;
  if (method != "common") call.refuse("expected the method common, ceil or floor");
  return std::nearbyint(scaled) / scale;  // halves to even, as Python rounds
}

Value indent(const Call& call, const std::string& text) {
  const Value* width = call.argument(0, "width");
  std::string pad(4, ' ');
  if (width != nullptr && width->string() != nullptr) pad = *width->string();
  if (width != nullptr && width->is_integer()) {
    if (width->integer() < 0 || width->integer() > 200) call.refuse("expected a width from 0 to 200");
    pad.assign(static_cast<std::size_t>(width->integer()), ' ');
  }
  const Value *first = call.argument(1, "first"), *blank = call.argument(2, "blank");
  std::string out;
  bool is_first = true;
  for (const std::string& line : split_text(text, "\n", -1, false)) {
    if (!is_first) out += '\n';
    const bool pads = is_first ? first != nullptr && first->truthy()
                               : !line.empty() || (blank != nullptr && blank->truthy());
    if (pads) out += pad;
    if (out.size() > most_text_bytes) call.refuse("the text becomes too long");
    out += line;
    is_first = false;
  }
  return call.string(std::move(out));
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::optional<Value> text_filter(const Call& call, const Value& base) {
  const std::string_view name = call.name;
  if (name == "string" || name == "safe") return call.string(call.text_of(base));
  if (name == "trim")
    return call.string(std::string(strip(call.text_of(base), call.text(0, "chars", ""), true, true)));
  if (name == "upper") return call.string(upper(call.text_of(base)));
  if (name == "lower") return call.string(lower(call.text_of(base)));
  if (name == "capitalize") return call.string(capitalized(call.text_of(base)));
  if (name == "title") return call.string(words_titled(call.text_of(base)));
  if (name == "escape" || name == "e") return call.string(escape_html(call.text_of(base)));
  if (name == "indent") return indent(call, call.text_of(base));
  if (name == "replace") {
    const std::string from = call.text_of(call.required(0, "old"));
    if (from.empty()) call.refuse("the text to replace is empty");
    std::string out;
    if (!replace_text(call.text_of(base), from, call.text_of(call.required(1, "new")),
                      static_cast<long>(call.integer(2, "count", -1)), most_text_bytes, out))
      call.refuse("the text becomes too long");
    return call.string(std::move(out));
  }
  return std::nullopt;
}

}  // namespace

Value apply_filter(const Call& call, const Value& base) {
  const std::string_view name = call.name;
  if (name == "tojson") return to_json(call, base);
  if (name == "default" || name == "d") return with_default(call, base);
  if (name == "int") return to_number(call, base, true);
  if (name == "float") return to_number(call, base, false);
  if (name == "round") return round_number(call, base);
  if (name == "abs") {
    if (!base.is_number()) call.refuse("expected a number, found " + std::string(base.kind()));
    if (!base.is_integer()) return std::fabs(base.real());
    if (base.integer() == INT64_MIN) call.refuse("the result is too large");
    return base.integer() < 0 ? -base.integer() : base.integer();
  }
  if (name == "length" || name == "count") {
    if (base.string() != nullptr) call.charge_for(base);
    const auto length = length_of(base);
    if (!length) call.refuse("expected something with a length, found " + std::string(base.kind()));
    return *length;
  }
  if (auto text = text_filter(call, base)) return std::move(*text);
  if (auto value = apply_sequence_filter(call, base)) return std::move(*value);
  fail(call.line, "the filter '" + std::string(name.substr(0, 40)) + "' is not supported here");
}

}  // namespace lynxkv::model::jinja
