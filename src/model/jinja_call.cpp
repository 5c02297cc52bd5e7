#include "model/jinja_call.hpp"

#include <algorithm>

#include "model/jinja_lexer.hpp"
#include "model/unicode.hpp"

namespace lynxkv::model::jinja {
namespace {

constexpr std::uint64_t most_steps = 10'000'000;
constexpr std::uint64_t most_bytes = 256u << 20;
constexpr std::uint64_t most_extent_bytes = 64u << 20;
constexpr int most_depth = 50;

}  // namespace

void Budget::charge_step(int line) {
  if (++steps_ > most_steps)
    fail(line, "the template takes more than " + std::to_string(most_steps) + " steps");
}

void Budget::charge_bytes(int line, std::uint64_t bytes) {
  if (bytes > most_bytes || (bytes_ += bytes) > most_bytes)
    fail(line, "the template makes more than " + std::to_string(most_bytes >> 20) + " MiB of text and lists");
}

const Value* Call::argument(std::size_t index, std::string_view keyword) const noexcept {
  if (index < positional.size()) return &positional[index];
  for (const auto& [key, value] : named)
    if (key == keyword) return &value;
  return nullptr;
}

void Call::refuse(const std::string& what) const {
  fail(line, "'" + std::string(name.substr(0, 40)) + "': " + what);
}

std::int64_t Call::integer(std::size_t index, std::string_view keyword, std::int64_t fallback) const {
  const Value* value = argument(index, keyword);
  if (value == nullptr || value->is_none()) return fallback;
  if (!value->is_integer())
    refuse("expected an integer as " + std::string(keyword) + ", found " + std::string(value->kind()));
  return value->integer();
}

std::string Call::text(std::size_t index, std::string_view keyword, std::string_view fallback) const {
  const Value* value = argument(index, keyword);
  if (value == nullptr || value->is_none()) return std::string(fallback);
  if (value->string() == nullptr)
    refuse("expected a string as " + std::string(keyword) + ", found " + std::string(value->kind()));
  return *value->string();
}

const Value& Call::required(std::size_t index, std::string_view keyword) const {
  const Value* value = argument(index, keyword);
  if (value == nullptr) refuse("expected the argument " + std::string(keyword) + ", found none");
  return *value;
}

void Call::at_most(std::size_t arguments) const {
  if (positional.size() + named.size() > arguments)
    refuse("expected at most " + std::to_string(arguments) + " arguments, found " +
           std::to_string(positional.size() + named.size()));
}

void Call::count(Extent& extent, const Value& item) const {
  if (item.name_space() != nullptr) fail(line, "a namespace inside a list or mapping is not supported");
  const Extent inner = extent_of(item);
  extent.depth = std::max(extent.depth, inner.depth + 1);
  extent.bytes += inner.bytes;  // each is bounded, so the sum cannot wrap before the check
  if (extent.depth > most_depth) fail(line, "lists or mappings are nested too deeply");
  if (extent.bytes > most_extent_bytes) fail(line, "a list or mapping becomes too large");
}

Value Call::list(std::vector<Value> items) const {
  budget.charge_bytes(line, items.size() * sizeof(Value) + sizeof(List));
  auto made = std::make_shared<List>();
  for (const Value& item : items) count(made->extent, item);
  made->items = std::move(items);
  return made;
}

Value Call::dict(std::vector<std::pair<std::string, Value>> entries) const {
  auto made = std::make_shared<Dict>();
  for (const auto& [key, item] : entries) {
    budget.charge_bytes(line, sizeof(entries[0]) + key.size());
    made->extent.bytes += key.size() + 4;
    count(made->extent, item);
  }
  made->entries = std::move(entries);
  return made;
}

std::string Call::text_of(const Value& value) const {
  charge_for(value);
  return to_text(value);
}

Value Call::string(std::string text) const {
  budget.charge_bytes(line, text.size() + sizeof(Value));
  return text;
}

std::optional<std::vector<Value>> items_of(const Value& value) {
  std::vector<Value> items;
  if (value.is_undefined()) return items;
  if (value.list() != nullptr) return value.list()->items;
  if (value.dict() != nullptr && !value.dict()->is_namespace) {
    for (const auto& entry : value.dict()->entries) items.emplace_back(entry.first);
    return items;
  }
  if (const std::string* text = value.string()) {
    for (std::size_t at = 0; at < text->size();) {
      const std::uint32_t bytes = character_at(*text, at).bytes;
      items.emplace_back(text->substr(at, bytes));
      at += bytes;
    }
    return items;
  }
  return std::nullopt;
}

}  // namespace lynxkv::model::jinja
