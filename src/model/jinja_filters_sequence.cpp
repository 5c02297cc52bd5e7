// Filters over lists and mappings.
#include <algorithm>

#include "model/jinja_builtins.hpp"
#include "model/jinja_text.hpp"

namespace lynxkv::model::jinja {
namespace {

std::vector<Value> items(const Call& call, const Value& base) {
  call.charge_for(base);
  auto found = items_of(base);
  if (!found) call.refuse("expected something to loop over, found " + std::string(base.kind()));
  call.budget.charge_bytes(call.line, found->size() * sizeof(Value));
  return std::move(*found);
}

// `a.b.0`: attributes of attributes, and indices.
Value attribute_of(const Call& call, Value value, const Value& path) {
  if (path.is_integer()) return item_of(call, value, path);
  for (const std::string& step : split_text(to_text(path), ".", 16, false)) {
    const bool index =
        !step.empty() && step.size() < 10 && step.find_first_not_of("0123456789") == std::string::npos;
    value = item_of(call, value, index ? Value(static_cast<std::int64_t>(std::stol(step))) : Value(step));
  }
  return value;
}

// The rest of the arguments go to the filter or test that the first (after `skip`) names.
Call inner_call(const Call& call, std::string_view name, std::size_t skip) {
  Call inner{call.budget, call.line, name};
  for (std::size_t i = skip; i < call.positional.size(); ++i) inner.positional.push_back(call.positional[i]);
  return inner;
}

Value join(const Call& call, const Value& base) {
  const std::string between = call.text(0, "d", "");
  const Value* attribute = call.argument(1, "attribute");
  std::string out;
  bool first = true;
  for (const Value& item : items(call, base)) {
    if (!first) out += between;
    first = false;
    out += call.text_of(attribute == nullptr ? item : attribute_of(call, item, *attribute));
    call.budget.charge_bytes(call.line, between.size());
  }
  return call.string(std::move(out));
}

Value map(const Call& call, const Value& base) {
  std::vector<Value> out;
  const Value* attribute = call.positional.empty() ? call.argument(0, "attribute") : nullptr;
  const Value* fallback = call.argument(99, "default");
  for (const Value& item : items(call, base)) {
    call.budget.charge_step(call.line);
    if (attribute != nullptr) {
      Value found = attribute_of(call, item, *attribute);
      out.push_back(found.is_undefined() && fallback != nullptr ? *fallback : std::move(found));
    } else {
      const std::string name = call.text(0, "filter", "");
      if (name == "map") call.refuse("a map inside a map is not supported");
      out.push_back(apply_filter(inner_call(call, name, 1), item));
    }
  }
  return call.list(std::move(out));
}

// select, reject, selectattr, rejectattr.
Value select(const Call& call, const Value& base, bool keep, bool by_attribute) {
  std::vector<Value> out;
  const std::size_t at = by_attribute ? 1 : 0;
  const std::string test = call.text(at, "test", "");
  for (const Value& item : items(call, base)) {
    call.budget.charge_step(call.line);
    const Value value = by_attribute ? attribute_of(call, item, call.required(0, "attribute")) : item;
    const bool passes = test.empty() ? value.truthy() : apply_test(inner_call(call, test, at + 1), value);
    if (passes == keep) out.push_back(item);
  }
  return call.list(std::move(out));
}

Value sorted(const Call& call, std::vector<Value> list, const Value* attribute, bool reverse) {
  struct Keyed {
    Value key, item;
  };
  std::vector<Keyed> keyed;
  for (Value& item : list) {
    Value key = attribute == nullptr ? item : attribute_of(call, item, *attribute);
    if (key.string() != nullptr) key = call.string(lower(*key.string()));
    keyed.push_back({std::move(key), std::move(item)});
  }
  // Whether all can be compared is found out first: a comparison that throws must not leave a sort halfway.
  for (std::size_t i = 1; i < keyed.size(); ++i)
    if (compare(keyed[0].key, keyed[i].key) == 2 || keyed[i].key.list() != nullptr)
      call.refuse("expected values that can be ordered, found " + std::string(keyed[0].key.kind()) + " and " +
                  std::string(keyed[i].key.kind()));
  std::stable_sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
    return reverse ? compare(b.key, a.key) < 0 : compare(a.key, b.key) < 0;
  });
  std::vector<Value> out;
  for (Keyed& entry : keyed) out.push_back(std::move(entry.item));
  return call.list(std::move(out));
}

Value pairs_of(const Call& call, const Value& base) {
  if (base.is_undefined()) return call.list({});
  if (base.dict() == nullptr) call.refuse("expected a mapping, found " + std::string(base.kind()));
  std::vector<Value> out;
  for (const auto& [key, value] : base.dict()->entries) out.push_back(call.list({Value(key), value}));
  return call.list(std::move(out));
}

Value unique(const Call& call, const Value& base) {
  std::vector<Value> out;
  for (Value& item : items(call, base)) {
    const bool seen = std::any_of(out.begin(), out.end(), [&](const Value& other) {
      call.budget.charge_bytes(call.line, std::min(extent_of(item).bytes, extent_of(other).bytes));
      return equal(item, other);
    });
    if (!seen) out.push_back(std::move(item));
  }
  return call.list(std::move(out));
}

Value extreme(const Call& call, const Value& base, int wanted) {
  const std::vector<Value> list = items(call, base);
  if (list.empty()) return Undefined{"item"};
  const Value* best = &list[0];
  for (const Value& item : list) {
    const int order = compare(item, *best);
    if (order == 2) call.refuse("expected values that can be ordered");
    if (order == wanted) best = &item;
  }
  return *best;
}

Value reversed(const Call& call, const Value& base) {
  std::vector<Value> list = items(call, base);
  std::reverse(list.begin(), list.end());
  if (base.string() == nullptr) return call.list(std::move(list));
  std::string out;
  for (const Value& item : list) out += *item.string();
  return call.string(std::move(out));
}

}  // namespace

std::optional<Value> apply_sequence_filter(const Call& call, const Value& base) {
  const std::string_view name = call.name;
  const auto flag = [&](std::size_t index, std::string_view keyword) {
    const Value* value = call.argument(index, keyword);
    return value != nullptr && value->truthy();
  };
  if (name == "join") return join(call, base);
  if (name == "list") return call.list(items(call, base));
  if (name == "map") return map(call, base);
  if (name == "select") return select(call, base, true, false);
  if (name == "reject") return select(call, base, false, false);
  if (name == "selectattr") return select(call, base, true, true);
  if (name == "rejectattr") return select(call, base, false, true);
  if (name == "items") return pairs_of(call, base);
  if (name == "dictsort") {  // by key
    const Value key = std::int64_t{0};
    return sorted(call, pairs_of(call, base).list()->items, &key, flag(2, "reverse"));
  }
  if (name == "sort")
    return sorted(call, items(call, base), call.argument(2, "attribute"), flag(0, "reverse"));
  if (name == "unique") return unique(call, base);
  if (name == "reverse") return reversed(call, base);
  if (name == "min") return extreme(call, base, -1);
  if (name == "max") return extreme(call, base, 1);
  if (name == "first" || name == "last") {
    const std::vector<Value> list = items(call, base);
    if (list.empty()) return Value(Undefined{std::string(name) + " item"});
    return name == "first" ? list.front() : list.back();
  }
  if (name == "sum") {
    const Value* attribute = call.argument(0, "attribute");
    Value total = std::int64_t{0};
    for (const Value& item : items(call, base))
      total = binary(Call{call.budget, call.line, "+"}, total,
                     attribute == nullptr ? item : attribute_of(call, item, *attribute));
    return total;
  }
  return std::nullopt;
}

}  // namespace lynxkv::model::jinja
