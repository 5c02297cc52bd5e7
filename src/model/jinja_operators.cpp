// Operators, indexing and slicing, as Python has them.
#include <algorithm>
#include <cmath>

#include "model/jinja_builtins.hpp"
#include "model/unicode.hpp"

namespace lynxkv::model::jinja {
namespace {

[[noreturn]] void refuse_kinds(const Call& call, const Value& left, const Value& right) {
  std::string what = "cannot be applied to " + std::string(left.kind()) + " and " + std::string(right.kind());
  for (const Value* value : {&left, &right})
    if (const Undefined* undefined = value->get<Undefined>())
      what += " ('" + undefined->name.substr(0, 40) + "' is undefined)";
  call.refuse(what);
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Value integer_operation(const Call& call, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  const std::string_view op = call.name;
  if (op == "+") {
    overflow = __builtin_add_overflow(a, b, &result);
  } else if (op == "-") {
    overflow = __builtin_sub_overflow(a, b, &result);
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(a, b, &result);
  } else if (op == "**") {
    if (b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
    if (b > 64 && a != 0 && a != 1 && a != -1) call.refuse("the result is too large");
    result = 1;
    for (std::int64_t i = 0; i < (b > 64 ? b % 2 + 2 : b); ++i)
      overflow = overflow || __builtin_mul_overflow(result, a, &result);
  } else {  // // and %
    if (b == 0) call.refuse("division by zero");
    if (b == -1) {
      if (op == "%") return std::int64_t{0};
      overflow = __builtin_sub_overflow(std::int64_t{0}, a, &result);
    } else {
      result = floor_divide(a, b);
      if (op == "%") result = a - result * b;
    }
  }
  if (overflow) call.refuse("the result is too large");
  return result;
}

Value number_operation(const Call& call, const Value& left, const Value& right) {
  if (call.name != "/" && left.is_integer() && right.is_integer())
    return integer_operation(call, left.integer(), right.integer());
  const double a = left.real(), b = right.real();
  if (call.name == "+") return a + b;
  if (call.name == "-") return a - b;
  if (call.name == "*") return a * b;
  if (call.name == "**") return std::pow(a, b);
  if (b == 0) call.refuse("division by zero");
  if (call.name == "/") return a / b;
  if (call.name == "//") return std::floor(a / b);
  return a - std::floor(a / b) * b;
}

Value repeat(const Call& call, const Value& what, std::int64_t times) {
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(times, 0));
  const std::uint64_t size =
      what.string() != nullptr ? what.string()->size() : what.list()->items.size() * sizeof(Value);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(size, count, &bytes)) bytes = ~std::uint64_t{0};
  call.budget.charge_bytes(call.line, bytes);
  if (size == 0) return what;
  if (const std::string* text = what.string()) {
    std::string out;
    for (std::uint64_t i = 0; i < count; ++i) out += *text;
    return out;
  }
  std::vector<Value> items;
  for (std::uint64_t i = 0; i < count; ++i)
    items.insert(items.end(), what.list()->items.begin(), what.list()->items.end());
  return call.list(std::move(items));
}

bool contains(const Call& call, const Value& needle, const Value& hay) {
  if (hay.is_undefined()) return false;
  if (const std::string* text = hay.string()) {
    if (needle.string() == nullptr) refuse_kinds(call, needle, hay);
    call.budget.charge_bytes(call.line, text->size());
    return text->find(*needle.string()) != std::string::npos;
  }
  if (const List* list = hay.list()) {
    call.charge_for(hay);
    return std::any_of(list->items.begin(), list->items.end(),
                       [&](const Value& item) { return equal(item, needle); });
  }
  if (const Dict* dict = hay.dict(); dict != nullptr && !dict->is_namespace)
    return needle.string() != nullptr && dict->find(*needle.string()) != nullptr;
  refuse_kinds(call, needle, hay);
}

}  // namespace

Value binary(const Call& call, const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) return number_operation(call, left, right);
  if (call.name == "+") {
    if (left.string() != nullptr && right.string() != nullptr)
      return call.string(*left.string() + *right.string());
    if (left.list() != nullptr && right.list() != nullptr) {
      std::vector<Value> items = left.list()->items;
      items.insert(items.end(), right.list()->items.begin(), right.list()->items.end());
      return call.list(std::move(items));
    }
  }
  if (call.name == "*") {
    const auto repeats = [](const Value& what, const Value& times) {
      return (what.string() != nullptr || what.list() != nullptr) && times.is_integer();
    };
    if (repeats(left, right)) return repeat(call, left, right.integer());
    if (repeats(right, left)) return repeat(call, right, left.integer());
  }
  refuse_kinds(call, left, right);
}

bool compare_by(const Call& call, const Value& left, const Value& right) {
  const std::string_view op = call.name;
  if (op == "in") return contains(call, left, right);
  if (op == "not in") return !contains(call, left, right);
  call.budget.charge_bytes(call.line, std::min(extent_of(left).bytes, extent_of(right).bytes));
  if (op == "==") return equal(left, right);
  if (op == "!=") return !equal(left, right);
  const int order = compare(left, right);
  if (order == 2) refuse_kinds(call, left, right);
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  return order >= 0;
}

std::optional<std::int64_t> length_of(const Value& value) noexcept {
  if (const std::string* text = value.string()) {
    std::int64_t count = 0;
    for (std::size_t at = 0; at < text->size(); at += character_at(*text, at).bytes) ++count;
    return count;
  }
  if (value.list() != nullptr) return static_cast<std::int64_t>(value.list()->items.size());
  if (value.dict() != nullptr && !value.dict()->is_namespace)
    return static_cast<std::int64_t>(value.dict()->entries.size());
  if (value.is_undefined()) return 0;
  return std::nullopt;
}

Value item_of(const Call& call, const Value& base, const Value& index) {
  if (const Undefined* undefined = base.get<Undefined>())
    call.refuse("'" + undefined->name.substr(0, 40) + "' is undefined");
  if (const std::string* key = index.string()) {
    const Value* found = base.dict() != nullptr ? base.dict()->find(*key) : nullptr;
    if (found == nullptr) return Undefined{*key};
    if (const std::string* text = found->string()) call.budget.charge_bytes(call.line, text->size());
    return *found;
  }
  if (!index.is_integer() || (base.list() == nullptr && base.string() == nullptr))
    return Undefined{to_text(index).substr(0, 40)};
  const std::int64_t size = *length_of(base);
  const std::int64_t at = index.integer() < 0 ? index.integer() + size : index.integer();
  if (at < 0 || at >= size) return Undefined{"item " + std::to_string(index.integer())};
  if (base.list() != nullptr) return base.list()->items[static_cast<std::size_t>(at)];
  call.budget.charge_bytes(call.line, base.string()->size());
  return (*items_of(base))[static_cast<std::size_t>(at)];
}

Value slice_of(const Call& call, const Value& base, const Value& start, const Value& stop,
               const Value& step) {
  const auto bound = [&](const Value& value, std::int64_t fallback) {
    if (value.is_none()) return fallback;
    if (!value.is_integer()) call.refuse("expected integers in a slice, found " + std::string(value.kind()));
    return value.integer();
  };
  if (base.list() == nullptr && base.string() == nullptr) {
    if (const Undefined* undefined = base.get<Undefined>())
      call.refuse("'" + undefined->name.substr(0, 40) + "' is undefined");
    call.refuse("expected a list or a string to take a slice of, found " + std::string(base.kind()));
  }
  call.budget.charge_bytes(call.line, base.string() != nullptr ? base.string()->size() * sizeof(Value) : 0);
  const std::vector<Value> items = *items_of(base);
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t by = bound(step, 1);
  if (by == 0) call.refuse("a slice's step is 0");
  const auto clamp = [&](std::int64_t value) {
    if (value < 0) value = value < -size ? -1 : value + size;
    return by > 0 ? std::clamp<std::int64_t>(value, 0, size) : std::clamp<std::int64_t>(value, -1, size - 1);
  };
  const std::int64_t first = start.is_none() ? (by > 0 ? 0 : size - 1) : clamp(bound(start, 0));
  const std::int64_t last = stop.is_none() ? (by > 0 ? size : -1) : clamp(bound(stop, 0));
  std::vector<Value> taken;
  for (std::int64_t i = first; by > 0 ? i < last : i > last;) {
    taken.push_back(items[static_cast<std::size_t>(i)]);
    if (__builtin_add_overflow(i, by, &i)) break;
  }
  if (base.list() != nullptr) return call.list(std::move(taken));
  std::string text;
  for (const Value& item : taken) text += *item.string();
  return call.string(std::move(text));
}

}  // namespace lynxkv::model::jinja
