// Methods of strings, mappings and lists, and the functions that every template may call.
#include <algorithm>
#include <array>
#include <utility>

#include "model/jinja_builtins.hpp"
#include "model/jinja_lexer.hpp"
#include "model/jinja_text.hpp"

namespace lynxkv::model::jinja {
namespace {

constexpr std::size_t most_text_bytes = 64u << 20;

// A prefix or suffix, or several of which one may fit.
bool fits_end(const Call& call, const std::string& text, bool start) {
  const Value& wanted = call.required(0, "prefix");
  const auto fits = [&](const Value& value) {
    if (value.string() == nullptr) call.refuse("expected a string, found " + std::string(value.kind()));
    return start ? text.starts_with(*value.string()) : text.ends_with(*value.string());
  };
  if (wanted.list() == nullptr) return fits(wanted);
  return std::any_of(wanted.list()->items.begin(), wanted.list()->items.end(), fits);
}

Value list_of_texts(const Call& call, const std::vector<std::string>& texts) {
  std::vector<Value> items;
  for (const std::string& text : texts) items.push_back(call.string(text));
  return call.list(std::move(items));
}

Value split_method(const Call& call, const std::string& text, bool from_right) {
  const Value* separator = call.argument(0, "sep");
  const bool on_space = separator == nullptr || separator->is_none();
  const std::string by = call.text(0, "sep", "");
  if (!on_space && by.empty()) call.refuse("the separator is empty");
  call.budget.charge_bytes(call.line, text.size() * 8);  // pieces of one byte are strings all the same
  return list_of_texts(call,
                       split_text(text, by, static_cast<long>(call.integer(1, "maxsplit", -1)), from_right));
}

Value split_lines(const Call& call, const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n' && text[i] != '\r') {
      line += text[i];
      continue;
    }
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
    lines.push_back(std::exchange(line, {}));
  }
  if (!line.empty()) lines.push_back(line);
  return list_of_texts(call, lines);
}

Value replace_method(const Call& call, const std::string& text) {
  const std::string from = call.text(0, "old", "");
  if (from.empty()) call.refuse("the text to replace is empty");
  std::string out;
  if (!replace_text(text, from, call.text(1, "new", ""), static_cast<long>(call.integer(2, "count", -1)),
                    most_text_bytes, out))
    call.refuse("the text becomes too long");
  return call.string(std::move(out));
}

// Characters before byte `at`.
Value character_index(std::string_view text, std::size_t at) {
  if (at == std::string_view::npos) return std::int64_t{-1};
  return *length_of(Value(std::string(text.substr(0, at))));
}

std::optional<Value> string_method(const Call& call, const std::string& text) {
  const std::string_view name = call.name;
  call.budget.charge_bytes(call.line, text.size());
  if (name == "strip" || name == "lstrip" || name == "rstrip")
    return call.string(
        std::string(strip(text, call.text(0, "chars", ""), name != "rstrip", name != "lstrip")));
  if (name == "split" || name == "rsplit") return split_method(call, text, name == "rsplit");
  if (name == "splitlines") return split_lines(call, text);
  if (name == "startswith" || name == "endswith") return Value(fits_end(call, text, name == "startswith"));
  if (name == "replace") return replace_method(call, text);
  if (name == "upper") return call.string(upper(text));
  if (name == "lower") return call.string(lower(text));
  if (name == "capitalize") return call.string(capitalized(text));
  if (name == "title") return call.string(titled(text));
  if (name == "find") return character_index(text, text.find(call.text(0, "sub", "")));
  if (name == "rfind") return character_index(text, text.rfind(call.text(0, "sub", "")));
  if (name == "removeprefix" || name == "removesuffix") {
    const std::string end = call.text(0, "prefix", "");
    if (name == "removeprefix") return call.string(text.starts_with(end) ? text.substr(end.size()) : text);
    return call.string(text.ends_with(end) ? text.substr(0, text.size() - end.size()) : text);
  }
  if (name == "count") {
    const std::string part = call.text(0, "sub", "");
    if (part.empty()) call.refuse("the text to count is empty");
    return Value(static_cast<std::int64_t>(split_text(text, part, -1, false).size()) - 1);
  }
  if (name == "join") {
    Call inner{call.budget, call.line, "join", {Value(text)}};
    return apply_filter(inner, call.required(0, "iterable"));
  }
  if (name == "isdigit")
    return Value(!text.empty() && text.find_first_not_of("0123456789") == std::string::npos);
  return std::nullopt;
}

std::optional<Value> dict_method(const Call& call, const Value& base) {
  const Dict& dict = *base.dict();
  if (call.name == "get") {
    const Value& key = call.required(0, "key");
    const Value* found = key.string() == nullptr ? nullptr : dict.find(*key.string());
    if (found != nullptr) return *found;
    const Value* fallback = call.argument(1, "default");
    return fallback == nullptr ? Value(None{}) : *fallback;
  }
  if (call.name == "items") return apply_filter(Call{call.budget, call.line, "items"}, base);
  if (call.name == "keys" || call.name == "values") {
    std::vector<Value> out;
    for (const auto& [key, value] : dict.entries) out.push_back(call.name == "keys" ? Value(key) : value);
    return call.list(std::move(out));
  }
  if (call.name == "copy") return base;
  if (call.name == "cycle" && dict.find("index0") != nullptr) {  // of a loop
    if (call.positional.empty()) call.refuse("expected values to cycle through, found none");
    const std::int64_t at = dict.find("index0")->integer();
    return call.positional[static_cast<std::size_t>(at) % call.positional.size()];
  }
  return std::nullopt;
}

std::optional<Value> list_method(const Call& call, const Value& base) {
  const std::vector<Value>& items = base.list()->items;
  if (call.name != "index" && call.name != "count") return std::nullopt;
  call.charge_for(base);
  const Value& wanted = call.required(0, "value");
  if (call.name == "count")
    return Value(static_cast<std::int64_t>(
        std::count_if(items.begin(), items.end(), [&](const Value& item) { return equal(item, wanted); })));
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const Value& item) { return equal(item, wanted); });
  if (found == items.end()) call.refuse("the value is not in the list");
  return Value(static_cast<std::int64_t>(found - items.begin()));
}

Value range(const Call& call) {
  call.at_most(3);
  const bool one = call.positional.size() == 1;
  const std::int64_t start = one ? 0 : call.integer(0, "start", 0);
  const std::int64_t stop = one ? call.integer(0, "stop", 0) : call.integer(1, "stop", 0);
  const std::int64_t step = call.integer(2, "step", 1);
  if (call.positional.empty()) call.refuse("expected one to three integers, found none");
  if (step == 0) call.refuse("the step is 0");
  std::vector<Value> items;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (items.size() >= 100'000) call.refuse("more than 100000 numbers");
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return call.list(std::move(items));
}

}  // namespace

std::optional<Value> call_method(const Call& call, const Value& base) {
  if (base.string() != nullptr) return string_method(call, *base.string());
  if (base.dict() != nullptr && !base.dict()->is_namespace) return dict_method(call, base);
  if (base.list() != nullptr) return list_method(call, base);
  return std::nullopt;
}

bool is_function(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 4> names = {"range", "dict", "namespace", "raise_exception"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

Value call_function(const Call& call) {
  if (call.name == "range") return range(call);
  if (call.name == "raise_exception")
    fail(call.line,
         "the template refuses the conversation: " + to_text(call.required(0, "message")).substr(0, 300));
  std::vector<std::pair<std::string, Value>> entries;
  if (!call.positional.empty() && call.positional[0].dict() != nullptr)
    entries = call.positional[0].dict()->entries;
  call.budget.charge_bytes(call.line, entries.size() * sizeof(Value));
  for (const auto& given : call.named) {
    const auto same = std::find_if(entries.begin(), entries.end(),
                                   [&](const auto& entry) { return entry.first == given.first; });
    if (same != entries.end())
      same->second = given.second;
    else
      entries.push_back(given);
  }
  const Value made = call.dict(std::move(entries));
  if (call.name == "dict") return made;
  auto space = std::make_shared<Dict>(*made.dict());
  space->is_namespace = true;
  return space;
}

}  // namespace lynxkv::model::jinja
