// Values as JSON text, in the form of Python's json.dumps with ensure_ascii=False.
#include <cmath>

#include "model/jinja_value.hpp"

namespace lynxkv::model::jinja {
namespace {

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          constexpr const char* hex = "0123456789abcdef";
          out += "\\u00";
          out += hex[static_cast<unsigned char>(c) >> 4];
          out += hex[c & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void append_break(std::string& out, int indent, int level, bool first) {
  if (indent < 0) {
    if (!first) out += ", ";
    return;
  }
  if (!first) out += ',';
  out += '\n';
  out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
}

void append_close(std::string& out, int indent, int level, bool empty, char bracket) {
  if (indent >= 0 && !empty) {
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
  }
  out += bracket;
}

}  // namespace

bool append_json(std::string& out, const Value& value, int indent, int level) {
  if (const std::string* text = value.string()) {
    append_json_string(out, *text);
  } else if (const List* list = value.list()) {
    out += '[';
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      append_break(out, indent, level + 1, i == 0);
      if (!append_json(out, list->items[i], indent, level + 1)) return false;
    }
    append_close(out, indent, level, list->items.empty(), ']');
  } else if (const Dict* dict = value.dict(); dict != nullptr && !dict->is_namespace) {
    out += '{';
    bool first = true;
    for (const auto& [key, item] : dict->entries) {
      append_break(out, indent, level + 1, first);
      first = false;
      append_json_string(out, key);
      out += ": ";
      if (!append_json(out, item, indent, level + 1)) return false;
    }
    append_close(out, indent, level, first, '}');
  } else if (value.is_none()) {
    out += "null";
  } else if (const bool* flag = value.get<bool>()) {
    out += *flag ? "true" : "false";
  } else if (value.is_integer()) {
    out += std::to_string(value.integer());
  } else if (value.is_number()) {
    const double number = value.real();
    out += std::isnan(number)   ? "NaN"
           : std::isinf(number) ? (number < 0 ? "-Infinity" : "Infinity")
                                : float_text(number);
  } else {
    return false;
  }
  return true;
}

}  // namespace lynxkv::model::jinja
