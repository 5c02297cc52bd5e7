#include "model/jinja_value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace lynxkv::model::jinja {

const Value* Dict::find(std::string_view key) const noexcept {
  for (const auto& [name, value] : entries)
    if (name == key) return &value;
  return nullptr;
}

const List* Value::list() const noexcept {
  const auto* pointer = get<std::shared_ptr<List>>();
  return pointer == nullptr ? nullptr : pointer->get();
}

const Dict* Value::dict() const noexcept {
  const auto* pointer = get<std::shared_ptr<Dict>>();
  return pointer == nullptr ? nullptr : pointer->get();
}

Dict* Value::name_space() const noexcept {
  const auto* pointer = get<std::shared_ptr<Dict>>();
  return pointer == nullptr || !(*pointer)->is_namespace ? nullptr : pointer->get();
}

std::int64_t Value::integer() const noexcept {
  if (const bool* flag = get<bool>()) return *flag ? 1 : 0;
  const auto* number = get<std::int64_t>();
  return number == nullptr ? 0 : *number;
}

double Value::real() const noexcept {
  const double* number = get<double>();
  return number == nullptr ? static_cast<double>(integer()) : *number;
}

bool Value::truthy() const noexcept {
  if (is_undefined() || is_none()) return false;
  if (is_number()) return real() != 0;
  if (string() != nullptr) return !string()->empty();
  if (list() != nullptr) return !list()->items.empty();
  if (dict() != nullptr) return dict()->is_namespace || !dict()->entries.empty();
  return true;
}

std::string_view Value::kind() const noexcept {
  if (is_undefined()) return "something undefined";
  if (is_none()) return "none";
  if (get<bool>() != nullptr) return "a boolean";
  if (is_integer()) return "an integer";
  if (is_number()) return "a float";
  if (string() != nullptr) return "a string";
  if (list() != nullptr) return "a list";
  if (dict() != nullptr) return dict()->is_namespace ? "a namespace" : "a mapping";
  return "a function";
}

Extent extent_of(const Value& value) noexcept {
  if (value.list() != nullptr) return value.list()->extent;
  if (value.dict() != nullptr && !value.dict()->is_namespace) return value.dict()->extent;
  if (value.string() != nullptr) return {0, value.string()->size() + 4};
  Extent extent{0, 16};
  if (value.dict() != nullptr)  // a namespace: its fields change
    for (const auto& [key, item] : value.dict()->entries) {
      const Extent inner = extent_of(item);
      extent.depth = std::max(extent.depth, inner.depth + 1);
      extent.bytes += key.size() + 4 + inner.bytes;
    }
  return extent;
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char digits[40];
  // Shortest digits that read back the same; Python switches to an exponent below 1e-4 and from 1e16 on.
  const double magnitude = std::fabs(value);
  const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto end = std::to_chars(digits, digits + sizeof digits, value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  std::string text(digits, end);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

namespace {

// A string literal as Python prints it: single quotes unless only those occur inside.
std::string quoted_repr(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') out += '\\';
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          constexpr const char* hex = "0123456789abcdef";
          out += "\\x";
          out += hex[static_cast<unsigned char>(c) >> 4];
          out += hex[c & 15];
        } else {
          out += c;
        }
    }
  }
  return out + quote;
}

}  // namespace

std::string to_repr(const Value& value) {
  if (const std::string* text = value.string()) return quoted_repr(*text);
  if (const List* list = value.list()) {
    std::string out = "[";
    for (const Value& item : list->items) out += (out.size() > 1 ? ", " : "") + to_repr(item);
    return out + "]";
  }
  if (const Dict* dict = value.dict()) {
    std::string out = dict->is_namespace ? "<Namespace {" : "{";
    bool first = true;
    for (const auto& [key, item] : dict->entries) {
      out += (first ? "" : ", ") + quoted_repr(key) + ": " + to_repr(item);
      first = false;
    }
    return out + (dict->is_namespace ? "}>" : "}");
  }
  if (value.is_undefined()) return "Undefined";
  return to_text(value);
}

std::string to_text(const Value& value) {
  if (const std::string* text = value.string()) return *text;
  if (value.is_undefined()) return "";
  if (value.is_none()) return "None";
  if (const bool* flag = value.get<bool>()) return *flag ? "True" : "False";
  if (value.is_integer()) return std::to_string(value.integer());
  if (value.is_number()) return float_text(value.real());
  if (const Callable* callable = value.get<Callable>()) return "<function " + callable->name + ">";
  return to_repr(value);
}

bool equal(const Value& a, const Value& b) noexcept {
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.is_number() && b.is_number()) {
    if (a.is_integer() && b.is_integer()) return a.integer() == b.integer();
    return a.real() == b.real();
  }
  if (a.string() != nullptr && b.string() != nullptr) return *a.string() == *b.string();
  if (a.list() != nullptr && b.list() != nullptr) {
    const auto &x = a.list()->items, &y = b.list()->items;
    if (&x == &y) return true;
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!equal(x[i], y[i])) return false;
    return true;
  }
  if (a.dict() != nullptr && b.dict() != nullptr) {
    if (a.dict() == b.dict()) return true;
    if (a.dict()->is_namespace || b.dict()->is_namespace) return false;
    if (a.dict()->entries.size() != b.dict()->entries.size()) return false;
    for (const auto& [key, item] : a.dict()->entries) {
      const Value* other = b.dict()->find(key);
      if (other == nullptr || !equal(item, *other)) return false;
    }
    return true;
  }
  const Callable *f = a.get<Callable>(), *g = b.get<Callable>();
  return f != nullptr && g != nullptr && f->name == g->name && f->macro == g->macro;
}

int compare(const Value& a, const Value& b) noexcept {
  const auto order = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (a.is_integer() && b.is_integer()) return order(a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return order(a.real(), b.real());
  // UTF-8 bytes order as code points do.
  if (a.string() != nullptr && b.string() != nullptr) return order(*a.string(), *b.string());
  if (a.list() != nullptr && b.list() != nullptr) {
    const auto &x = a.list()->items, &y = b.list()->items;
    for (std::size_t i = 0; i < x.size() && i < y.size(); ++i)
      if (!equal(x[i], y[i])) return compare(x[i], y[i]);
    return order(x.size(), y.size());
  }
  return 2;
}

}  // namespace lynxkv::model::jinja
